// Counts of far values and moments, column by column.
#include "kinflow/data/compare_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kinflow/core/in_quotes.h"

namespace kinflow {

void ColumnBeside::add(const ColumnBeside& more) {
  if (far_rows == 0) example = more.example;
  if (lone_rows == 0) lone_example = more.lone_example;
  rows += more.rows;
  far_rows += more.far_rows;
  lone_rows += more.lone_rows;
  nearest_lone = std::min(nearest_lone, more.nearest_lone);
  farthest_other = std::max(farthest_other, more.farthest_other);
  sum += more.sum;
  sum_of_squares += more.sum_of_squares;
}

std::vector<ColumnBeside> compare_scale(const ColumnsView& rows,
                                        const std::vector<UsualColumn>& usual) {
  std::vector<ColumnBeside> columns(usual.size());
  for (std::size_t i = 0; i < usual.size(); ++i) {
    auto& column = columns[i];
    if (!(usual[i].deviation > 0)) continue;
    column.rows = rows.rows;
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const double value = rows.at(row, i);
      const double away = (value - usual[i].mean) / usual[i].deviation;
      const double distance = std::abs(away);
      column.sum += away;
      column.sum_of_squares += away * away;
      if (distance <= kLoneDeviations) {
        column.farthest_other = std::max(column.farthest_other, distance);
      } else {
        if (column.lone_rows == 0) column.lone_example = value;
        ++column.lone_rows;
        column.nearest_lone = std::min(column.nearest_lone, distance);
      }
      if (distance <= kFarDeviations) continue;
      if (column.far_rows == 0) column.example = value;
      ++column.far_rows;
    }
  }
  return columns;
}

namespace {

bool is_far(const ColumnBeside& column) { return 2 * column.far_rows > column.rows; }

}  // namespace

std::vector<std::string> far_columns(const std::vector<ColumnBeside>& columns,
                                     const std::vector<UsualColumn>& usual) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& column = columns[i];
    if (!is_far(column)) continue;
    found.push_back(fmt::format(
        "{} of {} values of {} lie more than {} deviations ({:.4g}) from the mean of "
        "the training rows ({:.4g}), such as {:.6g}",
        column.far_rows, column.rows, in_quotes(usual[i].name), kFarDeviations,
        usual[i].deviation, usual[i].mean, column.example));
  }
  return found;
}

std::vector<std::string> narrow_columns(const std::vector<ColumnBeside>& columns,
                                        const std::vector<UsualColumn>& usual) {
  constexpr std::int64_t kLeastRows = 20;
  constexpr double kNarrow = 1.0 / 20;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& column = columns[i];
    if (!usual[i].spread_counts || column.rows < kLeastRows) continue;
    const auto rows = static_cast<double>(column.rows);
    const double mean = column.sum / rows;
    const double variance = column.sum_of_squares / rows - mean * mean;
    if (!(variance < kNarrow * kNarrow)) continue;
    found.push_back(fmt::format(
        "the values of {} have a deviation of {:.2g}, those of the training rows one "
        "of {:.4g}",
        in_quotes(usual[i].name),
        usual[i].deviation * std::sqrt(std::max(variance, 0.0)), usual[i].deviation));
  }
  return found;
}

std::vector<std::string> lone_values(const std::vector<ColumnBeside>& columns,
                                     const std::vector<UsualColumn>& usual) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& column = columns[i];
    const bool are_apart = column.nearest_lone >= kLoneSteps * column.farthest_other;
    if (column.lone_rows == 0 || is_far(column) || !are_apart) continue;
    found.push_back(
        fmt::format("{} of {} values of {} {} more than {} deviations ({:.4g}) from "
                    "the mean of the "
                    "training rows ({:.4g}), such as {:.6g}",
                    column.lone_rows, column.rows, in_quotes(usual[i].name),
                    column.lone_rows == 1 ? "lies" : "lie", kLoneDeviations,
                    usual[i].deviation, usual[i].mean, column.lone_example));
  }
  return found;
}

std::vector<std::string> warnings_on_scale(const std::string& source,
                                           const std::vector<ColumnBeside>& columns,
                                           const std::vector<UsualColumn>& usual) {
  std::vector<std::string> warnings;
  for (const auto& texts :
       {far_columns(columns, usual), narrow_columns(columns, usual)}) {
    for (const auto& text : texts) {
      warnings.push_back(fmt::format("{}: {}; are they in other units?", source, text));
    }
  }
  for (const auto& text : lone_values(columns, usual)) {
    warnings.push_back(fmt::format(
        "{}: {}; is it a mistake, or a code for a missing value?", source, text));
  }
  return warnings;
}

}  // namespace kinflow
