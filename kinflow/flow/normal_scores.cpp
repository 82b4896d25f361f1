// Smoothed quantiles, the spline between them, and the tails.
#include "kinflow/flow/normal_scores.h"

#include <algorithm>
#include <cmath>

#include "kinflow/statistics/normal_quantile.h"

namespace kinflow {
namespace {

// The outermost knots leave about so many rows beyond them, and are no further out.
constexpr double kRowsOfTail = 8;
constexpr double kFurthestScore = 2.5;
constexpr double kKnotDistance = 0.5;
// Standard deviation of the smoothing kernel, in distances of knots.
constexpr double kSmoothing = 0.5;
// An interval is at least this part of the mean one long, and a slope within these
// factors of those on either side: rows with one value are no spike of the density.
constexpr double kShortestInterval = 0.02;
constexpr double kLeastSlope = 0.5, kLargestSlope = 2;
// The growth of a tail is the mean of its posterior, with an exponential prior.
constexpr double kLargestGrowth = 4;
constexpr double kPriorRate = 0.5;
constexpr int kGrowthSteps = 200;

struct SortedColumn {
  std::vector<double> values;
  std::vector<double> weights;
  std::vector<double> scores;  // normal quantiles of the cumulative weights
  double total = 0;            // weight
};

SortedColumn sort_column(std::span<const double> column,
                         std::span<const double> weights) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (weights[i] > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](auto left, auto right) { return column[left] < column[right]; });
  SortedColumn sorted;
  for (const auto i : order) sorted.total += weights[i];
  double before = 0;
  for (const auto i : order) {
    sorted.values.push_back(column[i]);
    sorted.weights.push_back(weights[i]);
    sorted.scores.push_back(
        normal_quantile((before + 0.5 * weights[i]) / sorted.total));
    before += weights[i];
  }
  return sorted;
}

// The quantile function and its slope at a score: a weighted straight line through the
// sorted rows next to it.
struct Quantile {
  double value, slope;
};

Quantile smoothed_quantile(const SortedColumn& column, double score, double width) {
  double w = 0, wz = 0, wzz = 0, wx = 0, wzx = 0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const double z = column.scores[i] - score;
    const double weight =
        column.weights[i] * std::exp(-0.5 * (z / width) * (z / width));
    w += weight;
    wz += weight * z;
    wzz += weight * z * z;
    wx += weight * column.values[i];
    wzx += weight * z * column.values[i];
  }
  const double determinant = w * wzz - wz * wz;
  return {.value = (wzz * wx - wz * wzx) / determinant,
          .slope = (w * wzx - wz * wx) / determinant};
}

// Logarithm of dx/dz of a tail, and how far z is beyond its knot, at a distance from
// it.
struct Tail {
  double beyond, log_slope;
};

Tail tail_at(double distance, double slope, double growth) {
  const double steps = distance / slope;
  const double log_growth = std::log1p(growth * steps);
  return {.beyond = growth > 0 ? log_growth / growth : steps,
          .log_slope = std::log(slope) + log_growth};
}

// @param distances  of the rows beyond the knot
double growth_of_tail(const std::vector<double>& distances,
                      const std::vector<double>& weights, double score, double slope) {
  std::vector<double> log_posterior;
  for (int step = 0; step <= kGrowthSteps; ++step) {
    const double growth = kLargestGrowth * step / kGrowthSteps;
    double sum = -kPriorRate * growth;
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const auto tail = tail_at(distances[i], slope, growth);
      const double z = score + tail.beyond;
      sum -= weights[i] * (0.5 * z * z + tail.log_slope);
    }
    log_posterior.push_back(sum);
  }
  const double highest = *std::max_element(log_posterior.begin(), log_posterior.end());
  double total = 0, mean = 0;
  for (int step = 0; step <= kGrowthSteps; ++step) {
    const double weight =
        std::exp(log_posterior[static_cast<std::size_t>(step)] - highest);
    total += weight;
    mean += weight * kLargestGrowth * step / kGrowthSteps;
  }
  return mean / total;
}

void keep_increasing(NormalScores& map) {
  const auto intervals = map.values.size() - 1;
  const auto middle = intervals / 2;
  std::vector<double> lengths(intervals);
  const double mean =
      (map.values.back() - map.values.front()) / static_cast<double>(intervals);
  for (std::size_t i = 0; i < intervals; ++i) {
    lengths[i] = std::max(map.values[i + 1] - map.values[i], kShortestInterval * mean);
  }
  // Outwards from the middle.
  for (std::size_t i = middle; i < intervals; ++i) {
    map.values[i + 1] = map.values[i] + lengths[i];
  }
  for (std::size_t i = middle; i > 0; --i) {
    map.values[i - 1] = map.values[i] - lengths[i - 1];
  }
  for (std::size_t i = 0; i <= intervals; ++i) {
    const auto secant = [&](std::size_t at) {
      return lengths[at] / (map.scores[at + 1] - map.scores[at]);
    };
    const double left = secant(i == 0 ? 0 : i - 1);
    const double right = secant(std::min(i, intervals - 1));
    map.slopes[i] = std::clamp(map.slopes[i], kLeastSlope * std::min(left, right),
                               kLargestSlope * std::max(left, right));
  }
}

void add_tails(const SortedColumn& column, double information, NormalScores& map) {
  std::vector<double> below, above, weights_below, weights_above;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const double value = column.values[i];
    const double weight = column.weights[i] * information / column.total;
    if (value < map.values.front()) {
      below.push_back(map.values.front() - value);
      weights_below.push_back(weight);
    } else if (value > map.values.back()) {
      above.push_back(value - map.values.back());
      weights_above.push_back(weight);
    }
  }
  map.lower_growth =
      growth_of_tail(below, weights_below, -map.scores.front(), map.slopes.front());
  map.upper_growth =
      growth_of_tail(above, weights_above, map.scores.back(), map.slopes.back());
}

// Interval of increasing knots that holds a place inside them.
std::size_t interval_of(const std::vector<double>& knots, double place) {
  const auto after = std::upper_bound(knots.begin(), knots.end(), place);
  const auto index = std::max<std::ptrdiff_t>(0, after - knots.begin() - 1);
  return std::min(static_cast<std::size_t>(index), knots.size() - 2);
}

// One piece of the spline.
struct Piece {
  Piece(const NormalScores& map, std::size_t at)
      : width(map.scores[at + 1] - map.scores[at]),
        height(map.values[at + 1] - map.values[at]),
        secant(height / width),
        left(map.slopes[at]),
        right(map.slopes[at + 1]),
        bend(left + right - 2 * secant) {}

  // x above the left knot at a part of the width.
  double rise(double part) const {
    return height * (secant * part * part + left * part * (1 - part)) /
           (secant + bend * part * (1 - part));
  }
  double part_at(double rise) const {
    const double a = height * (secant - left) + rise * bend;
    const double b = height * left - rise * bend;
    const double c = -secant * rise;
    return std::clamp(2 * c / (-b - std::sqrt(std::max(b * b - 4 * a * c, 0.0))), 0.0,
                      1.0);
  }
  double log_slope(double part) const {
    const double rest = 1 - part;
    return 2 * std::log(secant) +
           std::log(right * part * part + 2 * secant * part * rest +
                    left * rest * rest) -
           2 * std::log(secant + bend * part * rest);
  }

  double width, height, secant, left, right, bend;
};

// Of the mean log-density, over the normal distribution with the column's own mean and
// deviation.
double gain_over_normal(const SortedColumn& column, const NormalScores& map) {
  double mean = 0, square = 0, gain = 0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    mean += column.weights[i] / column.total * column.values[i];
  }
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const double share = column.weights[i] / column.total;
    const double distance = column.values[i] - mean;
    const auto [score, log_slope] = map.to_score(column.values[i]);
    square += share * distance * distance;
    gain += share * (log_slope - 0.5 * score * score);
  }
  return gain + 0.5 * (1 + std::log(square));
}

}  // namespace

NormalScores NormalScores::identity(const std::vector<double>& knots) {
  return {.scores = knots,
          .values = knots,
          .slopes = std::vector<double>(knots.size(), 1.0)};
}

std::optional<NormalScores> NormalScores::from(std::span<const double> column,
                                               std::span<const double> weights,
                                               double information) {
  if (!(information >= kFewestRows)) return {};
  const auto sorted = sort_column(column, weights);
  const double furthest =
      std::min(kFurthestScore, normal_quantile(1 - kRowsOfTail / information));
  const auto half =
      std::max(1, static_cast<int>(std::lround(furthest / kKnotDistance)));
  const double distance = furthest / half;
  NormalScores map;
  for (int i = -half; i <= half; ++i) {
    const double score = distance * i;
    const auto found = smoothed_quantile(sorted, score, kSmoothing * distance);
    map.scores.push_back(score);
    map.values.push_back(found.value);
    map.slopes.push_back(found.slope);
  }
  // Nearly all rows have one value.
  if (!(map.values.back() > map.values.front())) return {};
  keep_increasing(map);
  add_tails(sorted, information, map);
  // By the criterion of Schwarz: the values of the knots and two tails are learned.
  const double parameters = static_cast<double>(map.scores.size() + 2);
  const double price = 0.5 * std::log(information) * parameters / information;
  if (!(gain_over_normal(sorted, map) > price)) return {};
  return map;
}

NormalScores::Score NormalScores::to_score(double value) const {
  if (value < values.front()) {
    const auto tail = tail_at(values.front() - value, slopes.front(), lower_growth);
    return {.score = scores.front() - tail.beyond, .log_slope = -tail.log_slope};
  }
  if (value > values.back()) {
    const auto tail = tail_at(value - values.back(), slopes.back(), upper_growth);
    return {.score = scores.back() + tail.beyond, .log_slope = -tail.log_slope};
  }
  const auto at = interval_of(values, value);
  const Piece piece(*this, at);
  const double part = piece.part_at(value - values[at]);
  return {.score = scores[at] + part * piece.width,
          .log_slope = -piece.log_slope(part)};
}

double NormalScores::to_value(double score) const {
  const auto beyond = [](double distance, double slope, double growth) {
    return slope * (growth > 0 ? std::expm1(growth * distance) / growth : distance);
  };
  if (score < scores.front()) {
    return values.front() -
           beyond(scores.front() - score, slopes.front(), lower_growth);
  }
  if (score > scores.back()) {
    return values.back() + beyond(score - scores.back(), slopes.back(), upper_growth);
  }
  const auto at = interval_of(scores, score);
  const Piece piece(*this, at);
  return values[at] + piece.rise((score - scores[at]) / piece.width);
}

}  // namespace kinflow
