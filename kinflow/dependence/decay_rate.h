// Times of rows, and the rate gamma at which dependence between them decays.
#pragma once

#include <string_view>

#include "kinflow/array/array.h"

namespace kinflow {

/// The times in float64, on their device. InputError, which begins with [who], where
/// they are not finite numbers [n] with n >= 1.
Array checked_times(const Array& times, std::string_view who);

/// The mean time between rows, next to each other in time; 1 where all times are equal.
double mean_gap(const Array& times);

/// The scale and the prior of laws whose parameters are lambda and, where there are
/// two, gamma > 0: lambda by its logit, gamma by its logarithm, kept in [1e-12, 1e12],
/// and no prior of gamma. `Law` is Dependence or DenseLaw.
template <typename Law>
class DecayLaw : public Law {
 public:
  Array to_unconstrained(const Array& parameters) const override;
  Array from_unconstrained(const Array& unconstrained) const override;
  Array unconstrained_gradient(const Array& parameters,
                               const Array& gradient) const override;
  Array unconstrained_prior_gradient(const Array& parameters) const override;
  Array prior_objective(const Array& parameters) const override;

 protected:
  using Law::Law;

 private:
  bool has_rate() const { return this->parameter_count() > 1; }
};

}  // namespace kinflow
