// Limits around data and round numbers between limits.
#include "kinflow/report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kinflow {
namespace {

// Positions beyond this are not told apart; keeps differences of limits finite.
constexpr double kLargestPosition = 1e300;
// Limits closer than this part of their size count as equal.
constexpr double kLeastRelativeDistance = 1e-9;

double size_of(Limits limits) {
  return std::max(std::abs(limits.low), std::abs(limits.high));
}

// "1.5e6" or "2e-7".
std::string scientific(double value, int decimals) {
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  return fmt::format("{:.{}f}e{}", value / std::pow(10, exponent), decimals, exponent);
}

std::vector<std::string> tick_labels(const std::vector<double>& positions,
                                     double step) {
  double largest = step;
  for (const double p : positions) largest = std::max(largest, std::abs(p));
  const double step_exponent = std::floor(std::log10(step) + 1e-9);
  std::vector<std::string> labels;
  for (const double p : positions) {
    if (largest < 1e6 && step_exponent > -6) {
      const int decimals = std::max(0, -static_cast<int>(step_exponent));
      labels.push_back(fmt::format("{:.{}f}", p, decimals));
    } else {
      const double places = std::floor(std::log10(largest) + 1e-9) - step_exponent;
      labels.push_back(p == 0 ? "0" : scientific(p, static_cast<int>(places)));
    }
  }
  return labels;
}

}  // namespace

Limits usable_limits(Limits limits) {
  if (!std::isfinite(limits.low) || !std::isfinite(limits.high)) return {0, 1};
  const auto [low, high] = std::minmax(limits.low, limits.high);
  limits = {std::max(low, -kLargestPosition), std::min(high, kLargestPosition)};
  limits.low = std::min(limits.low, kLargestPosition);
  limits.high = std::max(limits.high, -kLargestPosition);
  const double size = size_of(limits);
  if (limits.high - limits.low > kLeastRelativeDistance * size) return limits;
  const double room = size > 1 / kLargestPosition ? 0.1 * size : 0.5;
  return {limits.low - room, limits.high + room};
}

Limits limits_of(const std::vector<double>& values, double margin) {
  Limits limits{HUGE_VAL, -HUGE_VAL};
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    limits.low = std::min(limits.low, v);
    limits.high = std::max(limits.high, v);
  }
  limits = usable_limits(limits);
  const double room = margin * (limits.high - limits.low);
  return {limits.low - room, limits.high + room};
}

Ticks nice_ticks(Limits limits, int most) {
  limits = usable_limits(limits);
  const double distance = limits.high - limits.low;
  const double decade =
      std::pow(10, std::floor(std::log10(distance / std::max(most, 1))));
  Ticks ticks;
  for (const double multiple : {1, 2, 5, 10, 20, 50}) {
    const double step = multiple * decade;
    const double first = std::ceil(limits.low / step - 1e-6);
    const double last = std::floor(limits.high / step + 1e-6);
    if (last - first + 1 > std::max(most, 1)) continue;
    // Adding zero makes -0 positive.
    for (double k = first; k <= last; ++k) ticks.positions.push_back(k * step + 0.0);
    ticks.labels = tick_labels(ticks.positions, step);
    break;
  }
  return ticks;
}

}  // namespace kinflow
