// Monotone rational-quadratic splines with linear tails (Durkan et al., 2019), as plain
// array operations.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/flow/layer.h"
#include "kinflow/flow/spline_constants.h"

namespace kinflow {

/// Evaluates a spline per input on [-bound, bound]; the identity outside.
/// @param inputs      [...]
/// @param parameters  [..., 3K - 1]; leading dimensions, as many as those of `inputs`,
///                    broadcast against them
ElementwiseResult spline_forward(const Array& inputs, const Array& parameters,
                                 double bound);

/// The inverse of spline_forward; log_slopes are those of the inverse map.
ElementwiseResult spline_inverse(const Array& outputs, const Array& parameters,
                                 double bound);

}  // namespace kinflow
