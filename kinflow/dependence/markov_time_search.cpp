// The most likely decay in time: a likelihood curve, or a grid and a local search.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/likelihood_curve.h"
#include "kinflow/dependence/markov_time.h"

namespace kinflow {
namespace {

/// The grid's range of lambda and its step, on the scale of the logit.
constexpr double kLargestLogit = 8;
constexpr int kShares = 11;
/// Values of gamma in the grid, at most; their logarithms are 1 apart where these
/// suffice.
constexpr int kMostRates = 48;
/// Valleys of the grid that are searched.
constexpr std::size_t kMostValleys = 3;

}  // namespace

std::vector<double> MarkovTime::decay_rate_grid() const {
  std::vector<double> gaps;
  double span = 0;
  for (const double gap : gap_after_) {
    span += gap;
    if (gap > 0) gaps.push_back(gap);
  }
  if (gaps.empty()) return {1};
  // A few tiny gaps would stretch the grid to rates at which nothing else depends.
  const auto short_gap =
      gaps.begin() + static_cast<std::ptrdiff_t>((gaps.size() - 1) / 20);
  std::nth_element(gaps.begin(), short_gap, gaps.end());
  const double slowest = 0.1 / span, fastest = 10 / *short_gap;
  const double width = std::log(fastest / slowest);
  const int steps = std::min(static_cast<int>(std::ceil(width)), kMostRates - 1);
  std::vector<double> rates;
  for (int i = 0; i <= steps; ++i) {
    rates.push_back(slowest * std::exp(width * i / steps));
  }
  return rates;
}

Array MarkovTime::likely_places(const double* latents, std::int64_t columns,
                                const Array& start, double prior) const {
  const auto value_at = [&](const Setting& setting) {
    const Sums of_setting = sums(setting, latents, columns);
    const double share = setting.own_share;
    return 0.5 * (static_cast<double>(columns) * of_setting.log_det +
                  of_setting.quadratic) -
           prior * (std::log(share) + std::log1p(-share));
  };
  const std::vector<double> rates = decay_rate_grid();
  const int rate_count = static_cast<int>(rates.size());
  const auto setting_at = [&](int rate, int share) {
    const double logit = kLargestLogit * (2.0 * share / (kShares - 1) - 1);
    return Setting{1 / (1 + std::exp(-logit)), rates[static_cast<std::size_t>(rate)]};
  };
  std::vector<double> values;
  for (int rate = 0; rate < rate_count; ++rate) {
    for (int share = 0; share < kShares; ++share) {
      values.push_back(value_at(setting_at(rate, share)));
    }
  }
  const auto grid_value = [&](int rate, int share) {
    return values[static_cast<std::size_t>(rate * kShares + share)];
  };
  const auto is_valley = [&](int rate, int share) {
    for (int i = std::max(rate - 1, 0); i <= std::min(rate + 1, rate_count - 1); ++i) {
      for (int j = std::max(share - 1, 0); j <= std::min(share + 1, kShares - 1); ++j) {
        if (grid_value(i, j) < grid_value(rate, share)) return false;
      }
    }
    return true;
  };
  const Setting first = settings(start)[0];
  std::vector<std::pair<double, Setting>> places = {{value_at(first), first}};
  for (int rate = 0; rate < rate_count; ++rate) {
    for (int share = 0; share < kShares; ++share) {
      if (!is_valley(rate, share)) continue;
      places.emplace_back(grid_value(rate, share), setting_at(rate, share));
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  places.resize(std::min(places.size(), kMostValleys));
  std::vector<double> numbers;
  for (const auto& place : places) {
    numbers.push_back(place.second.own_share);
    numbers.push_back(place.second.decay_rate);
  }
  return nd::tensor(numbers, nd::kDouble).view({-1, 2});
}

Array MarkovTime::most_likely(const Array& latents, const Array& start,
                              double prior) const {
  Array result = checked_parameters(start).cpu().clone();
  const Array all = checked_latents(result, latents, rows()).to(nd::kCPU, nd::kDouble);
  const Array ordered = in_order(all);
  const std::int64_t p = ordered.size(2);
  for (std::int64_t r = 0; r < result.size(0); ++r) {
    const double* of_replica = ordered.data_ptr<double>() + r * rows() * p;
    if (options_.decay_rate) {
      const auto curve = [&](double own_share) {
        const Setting setting{own_share, *options_.decay_rate};
        const Sums of_setting = sums(setting, of_replica, p);
        double slope = 0;
        add_gradient(setting, 0, 0, rows(), of_replica, p, &slope);
        return CurvePoint{
            0.5 * (static_cast<double>(p) * of_setting.log_det + of_setting.quadratic),
            slope};
      };
      result[r][0] = most_likely_share(curve, prior);
      continue;
    }
    const Array unordered = all.narrow(0, r, 1);
    const Array places = likely_places(of_replica, p, result.narrow(0, r, 1), prior);
    std::optional<double> lowest;
    std::string failure;
    for (std::int64_t i = 0; i < places.size(0); ++i) {
      try {
        const Array found =
            Dependence::most_likely(unordered, places.narrow(0, i, 1), prior);
        const double value =
            (objective(found, unordered) + prior * prior_objective(found))
                .item<double>();
        if (lowest && *lowest <= value) continue;
        lowest = value;
        result[r].copy_(found[0]);
      } catch (const NumericalError& error) {
        failure = error.what();
      }
    }
    if (!lowest) throw NumericalError(failure);
  }
  return result.to(start.device());
}

}  // namespace kinflow
