// Monotone rational-quadratic splines with linear tails (Durkan et al., 2019), as plain
// tensor operations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kinflow/flow/layer.h"

namespace kinflow {

/// A spline with K bins has 3K - 1 unconstrained parameters: K widths, K heights and
/// the K - 1 interior slopes. The slopes at both ends are 1, so the tails are the
/// identity.
constexpr std::int64_t spline_parameter_count(std::int64_t bins) {
  return 3 * bins - 1;
}

/// Smallest width and height of a bin, as a share of the domain, and smallest slope.
inline constexpr double kSplineMinimum = 1e-3;

/// Evaluates a spline per input on [-bound, bound]; the identity outside.
/// @param inputs      [...]
/// @param parameters  [..., 3K - 1]; leading dimensions, as many as those of `inputs`,
///                    broadcast against them
ElementwiseResult spline_forward(const at::Tensor& inputs, const at::Tensor& parameters,
                                 double bound);

/// The inverse of spline_forward; log_slopes are those of the inverse map.
ElementwiseResult spline_inverse(const at::Tensor& outputs,
                                 const at::Tensor& parameters, double bound);

}  // namespace kinflow
