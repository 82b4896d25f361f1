// L-BFGS with a line search by doubling and halving.
#include "kinflow/dependence/minimize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace kinflow {
namespace {

using Vector = std::vector<double>;

/// Pairs of steps and changes of the gradient that approximate the curvature.
constexpr std::size_t kRemembered = 10;
constexpr int kTrials = 60;
/// Share of the decrease that the slope promises, and of the slope that may be left.
constexpr double kDecrease = 1e-4;
constexpr double kRemainingSlope = 0.9;
/// Values of larger functions differ by more than this share only beyond rounding.
constexpr double kRounding = 1e-13;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double largest(const Vector& a) {
  double result = 0;
  for (const double x : a) result = std::max(result, std::abs(x));
  return result;
}

void add(Vector& a, double factor, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += factor * b[i];
}

Vector difference(const Vector& a, const Vector& b) {
  Vector result = a;
  add(result, -1, b);
  return result;
}

struct Point {
  Vector place;
  double value;
  Vector slope;
};

Point evaluate(const SmoothFunction& function, Vector place) {
  Point point{std::move(place), 0, {}};
  point.slope.resize(point.place.size());
  point.value = function(point.place, point.slope);
  return point;
}

bool is_same_value(const Point& a, const Point& b) {
  return std::abs(a.value - b.value) <= kRounding * std::max(1.0, std::abs(b.value));
}

/// The latest steps and the changes of the gradient that they brought.
class Curvature {
 public:
  void forget() { pairs_.clear(); }
  bool is_empty() const { return pairs_.empty(); }

  void learn(const Point& before, const Point& after) {
    Pair pair{difference(after.place, before.place),
              difference(after.slope, before.slope), 0};
    pair.product = dot(pair.step, pair.change);
    // Without positive curvature along the step a direction might point uphill.
    if (!(pair.product > 1e-12 * dot(pair.change, pair.change))) return;
    pairs_.push_back(std::move(pair));
    if (pairs_.size() > kRemembered) pairs_.pop_front();
  }

  /// Minus the approximate inverse of the second derivatives times the gradient. Each
  /// coordinate is cut by itself: a long way to go in a flat one slows no other down.
  Vector direction(const Vector& slope, double longest_step) const {
    Vector result = slope;
    Vector share(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      share[i] = dot(pairs_[i].step, result) / pairs_[i].product;
      add(result, -share[i], pairs_[i].change);
    }
    double scale = 1 / std::max(largest(slope), 1.0);
    if (!pairs_.empty()) {
      const Pair& last = pairs_.back();
      scale = last.product / dot(last.change, last.change);
    }
    for (double& x : result) x *= scale;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      add(result, share[i] - dot(pairs_[i].change, result) / pairs_[i].product,
          pairs_[i].step);
    }
    for (double& x : result) x = std::clamp(-x, -longest_step, longest_step);
    return result;
  }

 private:
  struct Pair {
    Vector step;
    Vector change;
    double product;
  };
  std::deque<Pair> pairs_;
};

/// A point along the direction that lies lower, with a slope that is less steep; the
/// lowest acceptable one where the longest step is still steep; nothing where no trial
/// lies lower.
std::optional<Point> search_line(const SmoothFunction& function, const Point& from,
                                 const Vector& direction, double longest_step) {
  const double slope = dot(from.slope, direction);
  if (!(slope < 0)) return std::nullopt;
  const double end = longest_step / largest(direction);
  double low = 0, high = std::numeric_limits<double>::infinity();
  double length = 1;
  std::optional<Point> best;
  for (int trial = 0; trial < kTrials; ++trial) {
    Vector place = from.place;
    add(place, length, direction);
    Point point = evaluate(function, std::move(place));
    const double slope_here = dot(point.slope, direction);
    const bool is_flat = slope_here >= kRemainingSlope * slope;
    // Close to the minimum the values agree to the last digits and the slopes decide.
    const bool is_same = is_same_value(point, from);
    const bool is_lower =
        std::isfinite(point.value) && std::isfinite(slope_here) &&
        (point.value <= from.value + kDecrease * length * slope ||
         (is_same && is_flat && slope_here <= -(1 - 2 * kDecrease) * slope));
    if (!is_lower) {
      high = length;
    } else {
      low = length;
      best = std::move(point);
      if (is_flat || length >= end) break;
    }
    length = std::isfinite(high) ? 0.5 * (low + high) : std::min(2 * low, end);
  }
  return best;
}

}  // namespace

Minimum minimize(const SmoothFunction& function, const std::vector<double>& start,
                 const MinimizeOptions& options) {
  Point point = evaluate(function, start);
  if (!std::isfinite(point.value)) return {start, point.value, false};
  Curvature curvature;
  for (int i = 0; i < options.iterations; ++i) {
    if (largest(point.slope) <= options.largest_slope) {
      return {point.place, point.value, true};
    }
    const auto search = [&] {
      return search_line(function, point,
                         curvature.direction(point.slope, options.longest_step),
                         options.longest_step);
    };
    auto next = search();
    if (!next && !curvature.is_empty()) {
      curvature.forget();
      next = search();
    }
    if (!next) break;
    const bool stands_still =
        is_same_value(*next, point) && !(largest(next->slope) < largest(point.slope));
    if (stands_still) {
      curvature.forget();
    } else {
      curvature.learn(point, *next);
    }
    point = *std::move(next);
  }
  return {point.place, point.value, false};
}

}  // namespace kinflow
