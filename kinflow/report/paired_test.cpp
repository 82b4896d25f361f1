// Means, standard errors and the paired t-test.
#include "kinflow/report/paired_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kinflow/core/error.h"
#include "kinflow/statistics/student_t.h"

namespace kinflow {
namespace {

void require_finite(const std::vector<double>& values, const char* where,
                    const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw InputError(fmt::format("[{}] expected finite {}, received {} at place {}",
                                 where, what, values[i], i + 1));
  }
}

// The mean as a distance from the first value, which is exact where all are equal.
double mean_from_first(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = values.front();
  for (const double v : values) mean += v / count - values.front() / count;
  return mean;
}

// Deviations are squared in units of the largest, so that none overflows or vanishes.
double standard_error_of(const std::vector<double>& values, double mean) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  double largest = 0, squares = 0;
  for (const double v : values) largest = std::max(largest, std::abs(v - mean));
  if (largest == 0) return 0;
  for (const double v : values) {
    const double part = (v - mean) / largest;
    squares += part * part;
  }
  return largest * std::sqrt(squares / (count - 1) / count);
}

double ratio_by_sign(double mean) {
  return mean == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), mean);
}

// Of `higher` minus `lower`.
std::vector<double> differences_of(const std::vector<double>& lower,
                                   const std::vector<double>& higher) {
  if (lower.size() != higher.size() || lower.size() < 2) {
    throw InputError(fmt::format(
        "[paired_test] expected at least 2 pairs, received {} and {} values",
        lower.size(), higher.size()));
  }
  std::vector<double> differences;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    differences.push_back(higher[i] - lower[i]);
  }
  require_finite(differences, "paired_test", "differences");
  return differences;
}

PairedTest test_of(std::size_t pairs, double mean, double error, std::size_t degrees) {
  const double t = error > 0 ? mean / error : ratio_by_sign(mean);
  const auto freedom = static_cast<double>(degrees);
  return {.pairs = pairs,
          .mean_difference = mean,
          .standard_error = error,
          .t = t,
          .degrees_of_freedom = freedom,
          .p_value = student_t_tail(t, freedom)};
}

}  // namespace

MeanAndError mean_and_standard_error(const std::vector<double>& values) {
  constexpr auto kWhere = "mean_and_standard_error";
  if (values.empty()) {
    throw InputError(fmt::format("[{}] expected a value, received none", kWhere));
  }
  require_finite(values, kWhere, "values");
  const double mean = mean_from_first(values);
  return {values.size(), mean, standard_error_of(values, mean)};
}

PairedTest paired_test(const std::vector<double>& lower,
                       const std::vector<double>& higher) {
  const auto differences = differences_of(lower, higher);
  const double mean = mean_from_first(differences);
  return test_of(differences.size(), mean, standard_error_of(differences, mean),
                 differences.size() - 1);
}

PairedTest paired_test_of_groups(const std::vector<double>& lower,
                                 const std::vector<double>& higher,
                                 const std::vector<std::int64_t>& group) {
  const auto differences = differences_of(lower, higher);
  if (group.size() != differences.size()) {
    throw InputError(
        fmt::format("[paired_test] expected a group for each of {} pairs, received {}",
                    differences.size(), group.size()));
  }
  const double mean = mean_from_first(differences);
  std::map<std::int64_t, double> sums;
  for (std::size_t i = 0; i < group.size(); ++i) {
    sums[group[i]] += differences[i] - mean;
  }
  if (sums.size() < 2) {
    throw InputError("[paired_test] expected at least 2 groups, received 1");
  }
  std::vector<double> parts;
  for (const auto& [label, sum] : sums) parts.push_back(sum);
  const auto groups = static_cast<double>(parts.size());
  // The sums have mean 0.
  return test_of(
      differences.size(), mean,
      standard_error_of(parts, 0) * groups / static_cast<double>(differences.size()),
      parts.size() - 1);
}

}  // namespace kinflow
