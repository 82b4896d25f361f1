// Writing tables as CSV, TSV and .npy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/table.h"
#include "kinflow/data/zipped_file.h"

namespace kinflow {

struct TextColumn {
  std::string name;
  std::vector<std::string> cells;
};

/// Writes a table in the format of the ending of its path, some rows at a time. The
/// file appears whole when it is finished, or not at all. Numbers have the fewest
/// digits that read back to the same float64; a NaN is an empty cell. Text is gzipped
/// where the name ends in .gz.
class TableWriter {
 public:
  /// @param names       of the number columns; an .npy file does not keep them
  /// @param text_names  of the columns after them; InputError for .npy, which has none
  TableWriter(const std::string& path, const std::vector<std::string>& names,
              const std::vector<std::string>& text_names = {});

  /// Rows as they stand in the file. Several threads may do so at a time.
  /// @param values  [rows x names], row-major
  /// @param text    cells of the text columns, in their order, [rows] each
  std::string format(std::span<const double> values,
                     const std::vector<std::span<const std::string>>& text = {}) const;
  /// Adds rows that format() gave.
  void append(std::string_view formatted);
  /// Gives the file its name. Call once, last.
  void finish();

 private:
  char delimiter() const { return format_ == TableFormat::csv ? ',' : '\t'; }

  TableFormat format_;
  std::size_t columns_;  // of numbers
  bool has_one_column_;
  ZippedFile file_;
  std::uint64_t bytes_ = 0;  // of rows
  std::string held_back_;  // rows of an array for a pipe, where its shape stands first
};

/// Writes a whole table in one call, as a TableWriter does.
/// @param text_columns  stand after the number columns
void write_table(const std::string& path, const std::vector<std::string>& names,
                 std::span<const double> values,
                 const std::vector<TextColumn>& text_columns = {});

}  // namespace kinflow
