// One-dimensional maximum likelihood: a grid, then an enclosure.
#include "kinflow/dependence/likelihood_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kinflow {
namespace {

constexpr double kSmallest = 1e-9;
constexpr int kGridCells = 48;
constexpr int kEnclosures = 60;
/// Width of the enclosure on the logit's scale at which the search ends.
constexpr double kWidth = 1e-11;

double from_logit(double logit) {
  return std::clamp(1 / (1 + std::exp(-logit)), kSmallest, 1 - kSmallest);
}

/// The curve by the logit of its argument; the slope's sign and zeros are the same.
struct ByLogit {
  const std::function<CurvePoint(double)>& curve;

  double value(double logit) const { return curve(from_logit(logit)).value; }
  double slope(double logit) const {
    const double x = from_logit(logit);
    return curve(x).slope * x * (1 - x);
  }
};

/// A zero of the slope between `low`, where it is negative, and `high`, where it is
/// positive: secants, with a bisection after each so that the width halves.
double enclose_zero(const ByLogit& curve, double low, double high) {
  double slope_low = curve.slope(low), slope_high = curve.slope(high);
  for (int i = 0; i < kEnclosures && high - low > kWidth; ++i) {
    const bool bisects = i % 2 == 1;
    double middle = 0.5 * (low + high);
    if (!bisects) {
      const double secant = low - slope_low * (high - low) / (slope_high - slope_low);
      if (secant > low && secant < high) middle = secant;
    }
    const double slope = curve.slope(middle);
    if (slope == 0) return middle;
    (slope < 0 ? low : high) = middle;
    (slope < 0 ? slope_low : slope_high) = slope;
  }
  return 0.5 * (low + high);
}

double golden_section(const ByLogit& curve, double low, double high) {
  const double share = (std::sqrt(5.0) - 1) / 2;
  double left = high - share * (high - low), right = low + share * (high - low);
  double value_left = curve.value(left), value_right = curve.value(right);
  for (int i = 0; i < kEnclosures; ++i) {
    if (value_left <= value_right) {
      high = right;
      right = left;
      value_right = value_left;
      left = high - share * (high - low);
      value_left = curve.value(left);
    } else {
      low = left;
      left = right;
      value_left = value_right;
      right = low + share * (high - low);
      value_right = curve.value(right);
    }
  }
  return 0.5 * (low + high);
}

}  // namespace

double minimize_on_unit_interval(const std::function<CurvePoint(double)>& curve) {
  const ByLogit by_logit{curve};
  const double end = std::log((1 - kSmallest) / kSmallest);
  const auto place = [end](int cell) { return end * (2.0 * cell / kGridCells - 1); };
  std::vector<double> values;
  for (int cell = 0; cell <= kGridCells; ++cell) {
    values.push_back(by_logit.value(place(cell)));
  }
  double best = place(0), best_value = values[0];
  const auto consider = [&](double logit, double value) {
    if (!(value < best_value)) return;
    best = logit;
    best_value = value;
  };
  for (int cell = 0; cell <= kGridCells; ++cell) {
    const int left = std::max(cell - 1, 0), right = std::min(cell + 1, kGridCells);
    const double value = values[static_cast<std::size_t>(cell)];
    if (value > values[static_cast<std::size_t>(left)] ||
        value > values[static_cast<std::size_t>(right)]) {
      continue;
    }
    consider(place(cell), value);
    const bool falls_at_left = by_logit.slope(place(left)) < 0;
    const bool rises_at_right = by_logit.slope(place(right)) > 0;
    // A curve that only rises or only falls here is smallest at the end of the grid.
    if ((cell == left && !falls_at_left) || (cell == right && !rises_at_right)) {
      continue;
    }
    const double refined = falls_at_left && rises_at_right
                               ? enclose_zero(by_logit, place(left), place(right))
                               : golden_section(by_logit, place(left), place(right));
    consider(refined, by_logit.value(refined));
  }
  return from_logit(best);
}

double most_likely_share(const std::function<CurvePoint(double)>& curve, double prior) {
  return minimize_on_unit_interval([&](double x) {
    const CurvePoint point = curve(x);
    return CurvePoint{point.value - prior * (std::log(x) + std::log1p(-x)),
                      point.slope + prior * (2 * x - 1) / (x * (1 - x))};
  });
}

CurvePoint spectral_objective(const std::vector<SpectralTerm>& terms, double columns,
                              double lambda) {
  CurvePoint result{0, 0};
  for (const SpectralTerm& term : terms) {
    const double variance = lambda + (1 - lambda) * term.eigenvalue;
    const double numbers = columns * term.count;
    const double ratio = term.sum_of_squares / variance;
    result.value += numbers * std::log(variance) + ratio;
    result.slope += (1 - term.eigenvalue) / variance * (numbers - ratio);
  }
  return {0.5 * result.value, 0.5 * result.slope};
}

double most_likely_lambda(const std::vector<SpectralTerm>& terms, double columns,
                          double prior) {
  return most_likely_share(
      [&](double lambda) { return spectral_objective(terms, columns, lambda); }, prior);
}

}  // namespace kinflow
