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
/// Products down to this, and up to its reciprocal, have lost no digits.
constexpr double kSmallestProduct = 1e-300;

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
  // Independent sums, because each waits for its last addition.
  constexpr std::size_t kSums = 4;
  double log_det[kSums] = {}, trace[kSums] = {}, slope[kSums] = {};
  const auto add = [&](const SpectralTerm& term, std::size_t k) {
    const double variance = lambda + (1 - lambda) * term.eigenvalue;
    const double inverse = 1 / variance, ratio = term.sum_of_squares * inverse;
    trace[k] += ratio;
    slope[k] += (1 - term.eigenvalue) * inverse * (columns * term.count - ratio);
    return variance;
  };
  const auto log_of = [](double variance, double count) {
    return count * std::log(variance);
  };
  const std::size_t whole = terms.size() / kSums * kSums;
  for (std::size_t i = 0; i < whole; i += kSums) {
    double variance[kSums];
    for (std::size_t k = 0; k < kSums; ++k) variance[k] = add(terms[i + k], k);
    // Of directions that count once, one logarithm of a product does for all.
    const double product = variance[0] * variance[1] * variance[2] * variance[3];
    const bool are_single = terms[i].count == 1 && terms[i + 1].count == 1 &&
                            terms[i + 2].count == 1 && terms[i + 3].count == 1 &&
                            product > kSmallestProduct &&
                            product < 1 / kSmallestProduct;
    if (are_single) {
      log_det[0] += std::log(product);
    } else {
      for (std::size_t k = 0; k < kSums; ++k) {
        log_det[k] += log_of(variance[k], terms[i + k].count);
      }
    }
  }
  for (std::size_t i = whole; i < terms.size(); ++i) {
    log_det[0] += log_of(add(terms[i], 0), terms[i].count);
  }
  const auto sum = [](const double* of) { return of[0] + of[1] + (of[2] + of[3]); };
  return {0.5 * (columns * sum(log_det) + sum(trace)), 0.5 * sum(slope)};
}

double most_likely_lambda(const std::vector<SpectralTerm>& terms, double columns,
                          double prior) {
  return most_likely_share(
      [&](double lambda) { return spectral_objective(terms, columns, lambda); }, prior);
}

}  // namespace kinflow
