// Changes of scale, and p-values as text.
#include "kinflow/statistics/p_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

namespace kinflow {

double log10_p_of_log(double log_p) {
  // Not -0 for p = 1, and not below 0 by rounding; NaN stays.
  return log_p > 0 ? 0 : 0 - log_p / std::numbers::ln10;
}

double log10_p_of(double p) { return p >= 1 ? 0 : -std::log10(p); }

double log10_p_of_text(std::string_view text) {
  const auto number = [](std::string_view part, auto& value) {
    if (part.starts_with('+')) part.remove_prefix(1);
    return std::from_chars(part.data(), part.data() + part.size(), value).ec;
  };
  double value = 0;
  int exponent = 0;
  const auto end = text.find_first_of("eE");
  if (end != text.npos && number(text.substr(end + 1), exponent) != std::errc()) {
    return HUGE_VAL;
  }
  number(text.substr(0, end), value);
  return std::max(0.0, -std::log10(value) - exponent);
}

double p_of_log10(double log10_p) { return std::pow(10, -log10_p); }

std::string format_p(double log10_p) {
  constexpr double kPlain = 300;
  if (!(log10_p > kPlain) || std::isinf(log10_p)) {
    return fmt::format("{:.3g}", p_of_log10(log10_p));
  }
  double exponent = std::ceil(log10_p);
  double digits = std::pow(10, exponent - log10_p);
  if (digits >= 9.995) {
    digits = 1;
    --exponent;
  }
  return fmt::format("{:.3g}e-{:.0f}", digits, exponent);
}

}  // namespace kinflow
