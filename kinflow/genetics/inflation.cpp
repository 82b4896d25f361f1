// The p-values in the middle, turned into statistics.
#include "kinflow/genetics/inflation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "kinflow/statistics/chi_squared.h"

namespace kinflow {
namespace {

// The two values in the middle, the same one twice where their number is odd; at least
// one value.
std::pair<double, double> middle_values(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return {*middle, *middle};
  return {*std::max_element(values.begin(), middle), *middle};
}

}  // namespace

double genomic_inflation(std::span<const double> log10_p, double degrees) {
  std::vector<double> known;
  std::copy_if(log10_p.begin(), log10_p.end(), std::back_inserter(known),
               [](double value) { return !std::isnan(value); });
  if (known.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto [low, high] = middle_values(known);
  const auto statistic = [&](double value) {
    return inverse_log_chi_squared_tail(-value * std::numbers::ln10, degrees);
  };
  const double median = std::midpoint(statistic(low), statistic(high));
  return median / inverse_chi_squared_tail(0.5, degrees);
}

}  // namespace kinflow
