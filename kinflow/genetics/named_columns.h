// Columns of numbers with names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinflow {

/// [rows x names], column-major.
struct NamedColumns {
  std::vector<std::string> names;
  std::vector<double> values;
};

/// The columns of both.
NamedColumns side_by_side(const NamedColumns& left, const NamedColumns& right);

/// The values row by row: [rows x names], row-major.
std::vector<double> by_rows(const NamedColumns& columns, std::int64_t rows);

/// What a column was before it was standardized: value * deviation + mean.
struct ColumnScale {
  double mean = 0, deviation = 1;
};
struct StandardizedColumns {
  NamedColumns columns;
  std::vector<ColumnScale> scales;  ///< one for each column
};

/// Every column with mean 0 and mean square 1. One that does not vary beyond the
/// rounding of its values stays as it is.
StandardizedColumns standardize(const NamedColumns& columns, std::int64_t rows);

/// The names, in quotes and with commas between, for messages.
std::string quoted_names(const std::vector<std::string>& names);

}  // namespace kinflow
