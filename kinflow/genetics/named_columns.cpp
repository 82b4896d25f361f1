// Columns put together, standardized, and turned into rows.
#include "kinflow/genetics/named_columns.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kinflow/core/in_quotes.h"

namespace kinflow {
namespace {

ColumnScale standardize(std::span<double> values) {
  constexpr double kRounding = 1e-13;
  const auto count = static_cast<double>(values.size());
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (!(largest > 0)) return {};
  // In units of the largest value, whose square is a number whatever its size.
  double mean = 0, square = 0;
  for (const double value : values) mean += value / largest / count;
  for (const double value : values) {
    square += std::pow(value / largest - mean, 2) / count;
  }
  if (!(std::sqrt(square) > kRounding)) return {};
  const ColumnScale scale{mean * largest, std::sqrt(square) * largest};
  for (double& value : values) value = (value - scale.mean) / scale.deviation;
  return scale;
}

}  // namespace

NamedColumns side_by_side(const NamedColumns& left, const NamedColumns& right) {
  auto both = left;
  both.names.insert(both.names.end(), right.names.begin(), right.names.end());
  both.values.insert(both.values.end(), right.values.begin(), right.values.end());
  return both;
}

std::vector<double> by_rows(const NamedColumns& columns, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows), width = columns.names.size();
  std::vector<double> values(n * width);
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      values[i * width + j] = columns.values[j * n + i];
    }
  }
  return values;
}

StandardizedColumns standardize(const NamedColumns& columns, std::int64_t rows) {
  StandardizedColumns result{columns, {}};
  const auto n = static_cast<std::size_t>(rows);
  for (std::size_t j = 0; j < columns.names.size(); ++j) {
    result.scales.push_back(
        standardize(std::span(result.columns.values).subspan(j * n, n)));
  }
  return result;
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + in_quotes(name);
  return text;
}

}  // namespace kinflow
