// The chi-square distribution by its finite sums.
#include "kinflow/core/chi_square.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "kinflow/core/error.h"

namespace kinflow {

double chi_square_tail(double x, int degrees) {
  if (degrees < 1 || std::isnan(x)) {
    throw InputError(
        fmt::format("[chi_square_tail] expected a number and at least 1 degree of "
                    "freedom, received {} and {}",
                    x, degrees));
  }
  if (x <= 0) return 1;
  if (std::isinf(x)) return 0;
  // Q_{k+2} = Q_k + (x/2)^{k/2} exp(-x/2) / Gamma(k/2 + 1): nothing cancels.
  const double half = 0.5 * x;
  const bool is_odd = degrees % 2 == 1;
  double tail = is_odd ? std::erfc(std::sqrt(half)) : std::exp(-half);
  double log_term =
      is_odd ? 0.5 * std::log(4 * half / std::numbers::pi) : std::log(half);
  for (int k = is_odd ? 1 : 2; k < degrees; k += 2) {
    tail += std::exp(log_term - half);
    log_term += std::log(half / (0.5 * k + 1));
  }
  return std::fmin(tail, 1);
}

}  // namespace kinflow
