// Checks of times, and the unbounded scale of rates of decay.
#include "kinflow/dependence/decay_rate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/dependence/dense_law.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {
namespace {

constexpr double kSmallestRate = 1e-12;

Array bounded_rate(const Array& rate) {
  return rate.to(nd::kDouble).clamp(kSmallestRate, 1 / kSmallestRate);
}

}  // namespace

Array checked_times(const Array& times, std::string_view who) {
  if (times.dim() != 1 || times.size(0) == 0) {
    throw InputError(fmt::format("[{}] expected times [n] with n >= 1, received [{}]",
                                 who, fmt::join(times.sizes(), ", ")));
  }
  const Array result = times.detach().to(nd::kDouble);
  const Array wrong = nd::nonzero(result.isfinite().logical_not());
  if (wrong.size(0) > 0) {
    const auto row = wrong[0][0].item<std::int64_t>();
    throw InputError(fmt::format("[{}] expected finite times, received {} in row {}",
                                 who, result[row].item<double>(), row + 1));
  }
  return result;
}

double mean_gap(const Array& times) {
  const double span = (times.max() - times.min()).item<double>();
  return span > 0 ? span / static_cast<double>(times.size(0) - 1) : 1;
}

template <typename Law>
Array DecayLaw<Law>::to_unconstrained(const Array& parameters) const {
  Array result = Law::to_unconstrained(parameters);
  if (has_rate()) {
    result.select(1, 1).copy_(bounded_rate(parameters.select(1, 1)).log());
  }
  return result;
}

template <typename Law>
Array DecayLaw<Law>::from_unconstrained(const Array& unconstrained) const {
  Array result = Law::from_unconstrained(unconstrained);
  if (has_rate()) {
    const Array logarithm = unconstrained.select(1, 1).to(nd::kDouble);
    result.select(1, 1).copy_(bounded_rate(logarithm.exp()));
  }
  return result;
}

template <typename Law>
Array DecayLaw<Law>::unconstrained_gradient(const Array& parameters,
                                            const Array& gradient) const {
  Array result = Law::unconstrained_gradient(parameters, gradient);
  if (has_rate()) result.select(1, 1).copy_((gradient * parameters).select(1, 1));
  return result;
}

template <typename Law>
Array DecayLaw<Law>::unconstrained_prior_gradient(const Array& parameters) const {
  Array result = Law::unconstrained_prior_gradient(parameters);
  if (has_rate()) result.select(1, 1).zero_();
  return result;
}

template <typename Law>
Array DecayLaw<Law>::prior_objective(const Array& parameters) const {
  const Array own_share = this->checked_parameters(parameters).select(1, 0);
  return -(own_share.log() + nd::log1p(-own_share));
}

template class DecayLaw<Dependence>;
template class DecayLaw<DenseLaw>;

}  // namespace kinflow
