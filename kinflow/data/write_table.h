// Writing tables as CSV, TSV and .npy.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace kinflow {

struct TextColumn {
  std::string name;
  std::vector<std::string> cells;
};

/// Writes a table in the format of the ending of `path`, atomically. Numbers have the
/// fewest digits that read back to the same float64.
/// @param names         of the number columns; an .npy file does not keep them
/// @param values        [rows x names], row-major
/// @param text_columns  stand after the number columns; refused for .npy
void write_table(const std::string& path, const std::vector<std::string>& names,
                 std::span<const double> values,
                 const std::vector<TextColumn>& text_columns = {});

}  // namespace kinflow
