// Times of rows, and the rate gamma at which dependence between them decays.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace kinflow {

/// The times in float64, on their device. InputError, which begins with [who], where
/// they are not finite numbers [n] with n >= 1.
at::Tensor checked_times(const at::Tensor& times, std::string_view who);

/// The mean time between rows, next to each other in time; 1 where all times are equal.
double mean_gap(const at::Tensor& times);

/// The scale and the prior of laws whose parameters are lambda and, where there are
/// two, gamma > 0: lambda by its logit, gamma by its logarithm, kept in [1e-12, 1e12],
/// and no prior of gamma. `Law` is Dependence or DenseLaw.
template <typename Law>
class DecayLaw : public Law {
 public:
  at::Tensor to_unconstrained(const at::Tensor& parameters) const override;
  at::Tensor from_unconstrained(const at::Tensor& unconstrained) const override;
  at::Tensor unconstrained_gradient(const at::Tensor& parameters,
                                    const at::Tensor& gradient) const override;
  at::Tensor unconstrained_prior_gradient(const at::Tensor& parameters) const override;
  at::Tensor prior_objective(const at::Tensor& parameters) const override;

 protected:
  using Law::Law;

 private:
  bool has_rate() const { return this->parameter_count() > 1; }
};

}  // namespace kinflow
