// Monotone rational-quadratic splines with linear tails (Durkan et al., 2019), as plain
// tensor operations.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kinflow/flow/layer.h"
#include "kinflow/flow/spline_constants.h"

namespace kinflow {

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
