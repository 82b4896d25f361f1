// Frechet distance between two sets of features.
#pragma once

#include "kinflow/array/array.h"

namespace kinflow {

/// The squared Wasserstein distance between the normal laws with the means and the
/// covariances (divided by n - 1) of two sets,
///   |m - m'|^2 + tr(A + B - 2 (A^1/2 B A^1/2)^1/2),
/// in float64 on the CPU. Sets may have fewer rows than columns. With few rows it is
/// biased upwards, so compare numbers from sets of the same sizes only.
/// @param first, second  [n, d] and [m, d], any floating dtype and device, n and m at
///     least 2; else, or with values that are not finite, InputError
/// NumericalError where squares overflow.
double frechet_distance(const Array& first, const Array& second);

}  // namespace kinflow
