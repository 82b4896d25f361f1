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

/// gamma by its logarithm, kept in [1e-12, 1e12], and back.
at::Tensor rate_to_unconstrained(const at::Tensor& rate);
at::Tensor rate_from_unconstrained(const at::Tensor& unconstrained);

}  // namespace kinflow
