// Rows of a text table with a header, as the tools of genetics write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/text_lines.h"

namespace kinflow {

/// Walks over the rows of a text, plain or gzipped. Cells are separated by tabs, else
/// commas, else runs of blanks, as the header is; they lose the blanks and quotes
/// around them. Lines without text, and lines before the header that start with ##, are
/// skipped. InputError, with file and line, for an empty file, a row of another width
/// than the header and a quote that is not closed.
class DelimitedLines {
 public:
  explicit DelimitedLines(const std::string& path);
  /// Bytes in memory, which must outlive the reader; `source` stands for the file.
  DelimitedLines(std::string_view bytes, std::string source);

  const std::vector<std::string>& header() const { return header_; }
  /// Goes to the next row; false at the end.
  bool next();
  /// Cells of the row, as many as in the header.
  const std::vector<std::string>& cells() const { return cells_; }
  /// Number of the line of the row, or of the header before the first, from 1.
  std::int64_t line() const { return lines_.number(); }
  const std::string& source() const { return lines_.source(); }
  /// Throws InputError "SOURCE:LINE: WHAT" about this line.
  [[noreturn]] void fail(const std::string& what) const { lines_.fail(what); }

 private:
  void read_header();
  void split(std::string_view line);
  void split_at_delimiter(std::string_view line);
  void add_cell(std::string_view cell);

  TextLines lines_;
  char delimiter_ = ' ';
  std::vector<std::string> header_;
  std::vector<std::string> cells_;
  std::size_t count_ = 0;  // of the cells of the line so far
};

}  // namespace kinflow
