// Checks of times, and the unbounded scale of rates.
#include "kinflow/dependence/decay_rate.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr double kSmallestRate = 1e-12;

}  // namespace

at::Tensor checked_times(const at::Tensor& times, std::string_view who) {
  if (times.dim() != 1 || times.size(0) == 0) {
    throw InputError(fmt::format("[{}] expected times [n] with n >= 1, received [{}]",
                                 who, fmt::join(times.sizes(), ", ")));
  }
  const at::Tensor result = times.detach().to(at::kDouble);
  const at::Tensor wrong = at::nonzero(result.isfinite().logical_not());
  if (wrong.size(0) > 0) {
    const auto row = wrong[0][0].item<std::int64_t>();
    throw InputError(fmt::format("[{}] expected finite times, received {} in row {}",
                                 who, result[row].item<double>(), row + 1));
  }
  return result;
}

double mean_gap(const at::Tensor& times) {
  const double span = (times.max() - times.min()).item<double>();
  return span > 0 ? span / static_cast<double>(times.size(0) - 1) : 1;
}

at::Tensor rate_to_unconstrained(const at::Tensor& rate) {
  return rate.to(at::kDouble).clamp(kSmallestRate, 1 / kSmallestRate).log();
}

at::Tensor rate_from_unconstrained(const at::Tensor& unconstrained) {
  return unconstrained.to(at::kDouble).exp().clamp(kSmallestRate, 1 / kSmallestRate);
}

}  // namespace kinflow
