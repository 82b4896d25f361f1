// Means by units, and the table of held-out scores.
#include "kinflow/fit/cross_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kinflow/core/atomic_file.h"

namespace kinflow {

MeanByUnits weighted_mean_by_units(const std::vector<double>& values,
                                   const std::vector<double>& weights,
                                   const std::vector<std::int64_t>& unit_of_row) {
  double total = 0, sum = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    total += weights[row];
    sum += weights[row] * values[row];
  }
  MeanByUnits result{.mean = sum / total};
  const auto units = static_cast<std::size_t>(
      *std::max_element(unit_of_row.begin(), unit_of_row.end()) + 1);
  std::vector<double> residual(units);
  for (std::size_t row = 0; row < values.size(); ++row) {
    residual[static_cast<std::size_t>(unit_of_row[row])] +=
        weights[row] * (values[row] - result.mean);
  }
  double squares = 0;
  for (const double one : residual) squares += one * one;
  const auto count = static_cast<double>(units);
  result.standard_error = units < 2 ? std::numeric_limits<double>::quiet_NaN()
                                    : std::sqrt(count / (count - 1) * squares) / total;
  return result;
}

void write_cross_validation(const std::string& path, const CrossValidation& scores) {
  std::string text = "row,fold,unit,weight,log_density_nats\n";
  for (std::size_t i = 0; i < scores.table_row.size(); ++i) {
    text += fmt::format("{},{},{},{},{}\n", scores.table_row[i] + 1,
                        scores.fold_of_row[i] + 1, scores.unit_of_row[i] + 1,
                        scores.weight_of_row[i], scores.log_density_of_row[i]);
  }
  write_file_atomically(path, text);
}

}  // namespace kinflow
