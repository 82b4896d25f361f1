// Cells of chosen columns of a table, row by row.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/cells.h"
#include "kinflow/data/table.h"

namespace kinflow {

class RowReader {
 public:
  /// @param columns  positions of the columns, in any order, each once
  RowReader(const Table& table, const std::vector<std::int64_t>& columns)
      : table_(table), slot_of_column_(table.names_.size(), -1) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      slot_of_column_[static_cast<std::size_t>(columns[i])] = static_cast<int>(i);
    }
    while (!slot_of_column_.empty() && slot_of_column_.back() < 0) {
      slot_of_column_.pop_back();
    }
  }

  /// Calls visit(slot, text) for text files and visit(slot, number) for arrays, for
  /// each chosen column in the order of the table.
  template <typename Visit>
  void read(std::int64_t row, const Visit& visit) const {
    const auto index = static_cast<std::size_t>(row);
    if (table_.row_starts_.empty()) {
      const double* numbers = table_.numbers_.data() + index * table_.names_.size();
      for (std::size_t c = 0; c < slot_of_column_.size(); ++c) {
        if (slot_of_column_[c] >= 0) visit(slot_of_column_[c], numbers[c]);
      }
      return;
    }
    CellReader reader(table_.bytes_, table_.row_starts_[index], table_.delimiter_);
    for (const int slot : slot_of_column_) {
      const std::string_view cell = reader.next();
      if (slot >= 0) visit(slot, cell);
    }
  }

 private:
  const Table& table_;
  std::vector<int> slot_of_column_;
};

/// What a cell of a text file or an array holds.
inline std::string cell_text(std::string_view cell) { return std::string(cell); }
inline std::string cell_text(double number) {
  return std::isnan(number) ? "" : fmt::format("{}", number);
}

inline CellKind cell_number(std::string_view cell, double& value) {
  return read_number(cell, value);
}
inline CellKind cell_number(double number, double& value) {
  value = number;
  return kind_of(number);
}

inline bool is_missing(std::string_view cell) { return is_missing_cell(cell); }
inline bool is_missing(double number) { return std::isnan(number); }

}  // namespace kinflow
