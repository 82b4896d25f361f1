// The t distribution through the incomplete beta function, or near the normal one.
#include "kinflow/statistics/student_t.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

// From here on the normal distribution is the same.
constexpr double kNormalDegrees = 1e100;
// From here on a series around the normal distribution has more digits.
constexpr double kManyDegrees = 500;
// Twice the standard normal density at 0.
const double kTwiceNormalDensity = std::sqrt(2 / std::numbers::pi);

// Gamma(a + 1/2) / (Gamma(a) sqrt(a)).
double gamma_ratio(double a) {
  double factor = 1;
  const double first = a;
  for (; a < 20; ++a) factor *= a / (a + 0.5);
  // Its logarithm in odd powers of 1/a.
  const double u = 1 / a, u2 = u * u;
  const double series =
      u * (-1.0 / 8 + u2 * (1.0 / 192 + u2 * (-1.0 / 640 + u2 * 17 / 14336)));
  return factor * std::sqrt(a / first) * std::exp(series);
}

// P(|T| > t) in parts, so that it has a logarithm where it is too small for a number:
// exp(log_scale) * factor, or 1 less that where it is near 1.
struct TwoSidedTail {
  double log_scale;
  double factor;
  bool is_complement = false;

  double value() const {
    const double part = std::exp(log_scale) * factor;
    return is_complement ? 1 - part : part;
  }
  double log() const {
    return is_complement ? std::log1p(-std::exp(log_scale) * factor)
                         : log_scale + std::log(factor);
  }
};

// P(|Z| > y) of a standard normal Z; y from 0.
TwoSidedTail normal_tail(double y) {
  if (y < 10) return {0, std::erfc(y / std::numbers::sqrt2)};
  constexpr int kTerms = 40;
  double fraction = y;
  for (int k = kTerms; k > 0; --k) fraction = y + k / fraction;
  return {-0.5 * y * y, kTwiceNormalDensity / fraction};
}

// x = z^2 / (2 degrees) with z^2 = degrees log(1 + t^2 / degrees).
double place_of_series(double t, double degrees) {
  return 0.5 * std::log1p(t / degrees * t);
}

// Where the series of the tail of many degrees has all digits.
constexpr double kLastPlaceOfSeries = 0.2;

// t from 0. The density is that of a normal z with the variance 1 / (1 - 1 / (2
// degrees)), times sqrt(x / sinh x), which is a series in x^2.
TwoSidedTail tail_of_many_degrees(double t, double degrees) {
  constexpr std::array kSeries{1.0,
                               -1.0 / 12,
                               1.0 / 160,
                               -61.0 / 120960,
                               1261.0 / 29030400,
                               -79.0 / 20275200,
                               66643.0 / 185980354560};
  const double precision = 1 - 0.5 / degrees;
  const double y2 = 2 * precision * degrees * place_of_series(t, degrees);
  const double y = std::sqrt(y2);
  // Integrals of twice the normal density times even powers of y, over the scale.
  const auto [log_scale, tail, ignored] = normal_tail(y);
  double power = kTwiceNormalDensity * y * std::exp(-0.5 * y * y - log_scale);
  double integral = tail;
  double sum = integral, factor = 1;
  for (std::size_t k = 1; k < kSeries.size(); ++k) {
    for (const double exponent : {4.0 * k - 3, 4.0 * k - 1}) {
      integral = power + exponent * integral;
      power *= y2;
    }
    factor /= 4 * degrees * degrees * precision * precision;
    const double term = kSeries[k] * factor * integral;
    sum += term;
    if (std::abs(term) < 1e-18 * sum) break;
  }
  return {log_scale, gamma_ratio(0.5 * degrees) / std::sqrt(precision) * sum};
}

// The fraction 1 / (1 + d1 / (1 + d2 / ...)) by which a B(a, b) I_x(a, b) differs from
// x^a (1 - x)^b, by Lentz's method; x below (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostFractionTerms = 10'000;
  constexpr double kFractionPrecision = 1e-16, kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double numerator = 1;
  double denominator = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = denominator;
  const auto extend = [&](double term) {
    denominator = 1 / away_from_zero(1 + term * denominator);
    numerator = away_from_zero(1 + term / numerator);
    fraction *= numerator * denominator;
  };
  for (int m = 1; m <= kMostFractionTerms; ++m) {
    const double a2m = a + 2 * m;
    extend(m * (b - m) * x / ((a2m - 1) * a2m));
    extend(-(a + m) * (a + b + m) * x / (a2m * (a2m + 1)));
    if (std::abs(numerator * denominator - 1) <= kFractionPrecision) return fraction;
  }
  throw NumericalError(
      fmt::format("[student_t_tail] the incomplete beta function of {}, {} at {} does "
                  "not converge",
                  a, b, x));
}

// t from 0 and finite. With w = t / sqrt(degrees), |T| > t has the probability
// I_x(degrees / 2, 1/2) at x = 1 / (1 + w^2). Where x is near 1 the same is
// 1 - I_{1-x}(1/2, degrees / 2).
TwoSidedTail tail_by_beta(double t, double degrees) {
  const double a = 0.5 * degrees, b = 0.5;
  const double w = t / std::sqrt(degrees);
  const double log_x = w < 1e100 ? -std::log1p(w * w) : -2 * std::log(w);
  const double x = std::exp(log_x);
  const double inverse_beta = gamma_ratio(a) * std::sqrt(a / std::numbers::pi);
  const double root_of_rest = w < 1e100 ? w / std::sqrt(1 + w * w) : 1;  // of 1 - x
  const double power = root_of_rest * inverse_beta;
  if (x < (a + 1) / (a + b + 2)) {
    return {a * log_x, power * beta_fraction(a, b, x) / a};
  }
  return {a * log_x, power * beta_fraction(b, a, root_of_rest * root_of_rest) / b,
          /*is_complement=*/true};
}

// t from 0 and finite.
TwoSidedTail two_sided_tail(double t, double degrees) {
  if (degrees > kNormalDegrees) return normal_tail(t);
  if (degrees > kManyDegrees && place_of_series(t, degrees) < kLastPlaceOfSeries) {
    return tail_of_many_degrees(t, degrees);
  }
  return tail_by_beta(t, degrees);
}

void check_student(double t, double degrees) {
  if (degrees > 0 && !std::isnan(t)) return;
  throw InputError(fmt::format(
      "[student_t_tail] expected a number and degrees of freedom above 0, received "
      "{} and {}",
      t, degrees));
}

}  // namespace

double student_t_tail(double t, double degrees) {
  check_student(t, degrees);
  if (t < 0) return 1 - student_t_tail(-t, degrees);
  if (std::isinf(t)) return 0;
  return 0.5 * two_sided_tail(t, degrees).value();
}

double log_two_sided_student_t_tail(double t, double degrees) {
  check_student(t, degrees);
  if (std::isinf(t)) return -HUGE_VAL;
  return two_sided_tail(std::abs(t), degrees).log();
}

}  // namespace kinflow
