// The incomplete gamma function as a series and as a continued fraction.
#include "kinflow/statistics/chi_squared.h"

#include <fmt/format.h>

#include <cmath>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr int kMostTerms = 100'000;
constexpr double kPrecision = 1e-16;

[[noreturn]] void fail_to_converge(double a, double z) {
  throw NumericalError(fmt::format(
      "[chi_squared_tail] the incomplete gamma function of {} at {} does not converge",
      a, z));
}

// log(z^a exp(-z) / Gamma(a)).
double log_power(double a, double z) { return a * std::log(z) - z - std::lgamma(a); }

// The lower incomplete gamma function over z^a exp(-z); z below a + 1.
double lower_series(double a, double z) {
  double term = 1 / a, sum = term;
  for (int n = 1; n <= kMostTerms; ++n) {
    term *= z / (a + n);
    sum += term;
    if (term < kPrecision * sum) return sum;
  }
  fail_to_converge(a, z);
}

// The upper incomplete gamma function over z^a exp(-z), by Lentz's method; z from
// a + 1.
double upper_fraction(double a, double z) {
  double b = z + 1 - a;
  double c = HUGE_VAL, d = 1 / b, fraction = d;
  for (int n = 1; n <= kMostTerms; ++n) {
    const double term = n * (a - n);
    b += 2;
    d = 1 / (term * d + b);
    c = b + (std::isinf(c) ? 0 : term / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) <= 4 * kPrecision) return fraction;
  }
  fail_to_converge(a, z);
}

void check(bool is_known, const char* what, double given, double degrees) {
  if (is_known && degrees > 0 && std::isfinite(degrees)) return;
  throw InputError(fmt::format(
      "[chi_squared_tail] expected {} and degrees of freedom above 0, received {} and "
      "{}",
      what, given, degrees));
}

// The tail at x above 0 and finite.
double log_tail(double x, double degrees) {
  const double a = 0.5 * degrees, z = 0.5 * x;
  if (z < a + 1) return std::log1p(-std::exp(log_power(a, z)) * lower_series(a, z));
  return log_power(a, z) + std::log(upper_fraction(a, z));
}

}  // namespace

double log_chi_squared_tail(double x, double degrees) {
  check(!std::isnan(x), "a number", x, degrees);
  if (x <= 0) return 0;
  if (std::isinf(x)) return -HUGE_VAL;
  return log_tail(x, degrees);
}

double chi_squared_tail(double x, double degrees) {
  check(!std::isnan(x), "a number", x, degrees);
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  const double a = 0.5 * degrees, z = 0.5 * x;
  if (z < a + 1) return 1 - std::exp(log_power(a, z)) * lower_series(a, z);
  return std::exp(log_power(a, z)) * upper_fraction(a, z);
}

double inverse_chi_squared_tail(double p, double degrees) {
  check(p >= 0 && p <= 1, "a probability", p, degrees);
  return inverse_log_chi_squared_tail(std::log(p), degrees);
}

double inverse_log_chi_squared_tail(double log_p, double degrees) {
  check(log_p <= 0, "the logarithm of a probability", log_p, degrees);
  if (std::isinf(log_p)) return HUGE_VAL;
  if (log_p == 0) return 0;
  const double a = 0.5 * degrees;
  double low = 0, high = degrees + 1;
  for (; log_tail(high, degrees) > log_p; high *= 2) low = high;
  // Newton's steps for the logarithm of the tail, halving where one leaves the bracket.
  double x = 0.5 * (low + high);
  for (int step = 0; step < 200; ++step) {
    const double value = log_tail(x, degrees);
    (value > log_p ? low : high) = x;
    // The density over the tail.
    const double slope = std::exp(log_power(a, 0.5 * x) - value) / x;
    double next = x + (value - log_p) / slope;
    if (!(next > low && next < high)) {
      // Halving logarithms reaches the tiny x of tails near 1 sooner.
      next = low > 0 || high > 1 ? 0.5 * (low + high) : 0.01 * high;
    }
    if (std::abs(next - x) <= 2e-16 * x) return next;
    x = next;
  }
  return x;
}

}  // namespace kinflow
