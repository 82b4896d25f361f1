// Checks of times, and the unbounded scale of rates of decay.
#include "kinflow/dependence/decay_rate.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "kinflow/core/error.h"
#include "kinflow/dependence/dense_law.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {
namespace {

constexpr double kSmallestRate = 1e-12;

at::Tensor bounded_rate(const at::Tensor& rate) {
  return rate.to(at::kDouble).clamp(kSmallestRate, 1 / kSmallestRate);
}

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

template <typename Law>
at::Tensor DecayLaw<Law>::to_unconstrained(const at::Tensor& parameters) const {
  at::Tensor result = Law::to_unconstrained(parameters);
  if (has_rate()) {
    result.select(1, 1).copy_(bounded_rate(parameters.select(1, 1)).log());
  }
  return result;
}

template <typename Law>
at::Tensor DecayLaw<Law>::from_unconstrained(const at::Tensor& unconstrained) const {
  at::Tensor result = Law::from_unconstrained(unconstrained);
  if (has_rate()) {
    const at::Tensor logarithm = unconstrained.select(1, 1).to(at::kDouble);
    result.select(1, 1).copy_(bounded_rate(logarithm.exp()));
  }
  return result;
}

template <typename Law>
at::Tensor DecayLaw<Law>::unconstrained_gradient(const at::Tensor& parameters,
                                                 const at::Tensor& gradient) const {
  at::Tensor result = Law::unconstrained_gradient(parameters, gradient);
  if (has_rate()) result.select(1, 1).copy_((gradient * parameters).select(1, 1));
  return result;
}

template <typename Law>
at::Tensor DecayLaw<Law>::unconstrained_prior_gradient(
    const at::Tensor& parameters) const {
  at::Tensor result = Law::unconstrained_prior_gradient(parameters);
  if (has_rate()) result.select(1, 1).zero_();
  return result;
}

template <typename Law>
at::Tensor DecayLaw<Law>::prior_objective(const at::Tensor& parameters) const {
  const at::Tensor own_share = this->checked_parameters(parameters).select(1, 0);
  return -(own_share.log() + at::log1p(-own_share));
}

template class DecayLaw<Dependence>;
template class DecayLaw<DenseLaw>;

}  // namespace kinflow
