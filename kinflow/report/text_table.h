// Small tables of text for the terminal and for Markdown.
#pragma once

#include <string>
#include <vector>

namespace kinflow {

enum class Align { kLeft, kRight };

/// A heading and the side to which its column is aligned.
struct TableColumn {
  std::string heading;
  Align align = Align::kRight;
};

/// Rows of cells under headings, every column as wide as its widest cell. Cells are
/// UTF-8 and counted in characters.
class TextTable {
 public:
  explicit TextTable(std::vector<TableColumn> columns);

  /// Adds a row of at most as many cells as there are columns; missing ones are empty.
  /// More cells throw std::invalid_argument.
  void add_row(std::vector<std::string> cells);

  /// Headings, a rule and the rows; columns two spaces apart, lines without trailing
  /// spaces, each ended by a newline.
  std::string plain() const;
  /// The same as a Markdown table; '|' in a cell is escaped.
  std::string markdown() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace kinflow
