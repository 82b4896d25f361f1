// Relationship matrices, and factors of them, made from other data.
#pragma once

#include <ATen/core/Tensor.h>

namespace kinflow {

/// Z [n, k] with Z Z' the correlation matrix of the rows of a table of principal
/// components: every row is centred over its k components and scaled to length 1. To be
/// decomposed by decompose_factor(), so that the n x n matrix is never formed.
/// InputError where a row is not finite or has equal components, and below k = 2.
/// @param components [n, k]
at::Tensor principal_component_factor(const at::Tensor& components);

/// G_ij = exp(-decay_rate (t_i - t_j)^2), [n, n] float64. InputError where times are
/// not finite numbers [n] or the rate is not positive.
at::Tensor gaussian_time_relationship(const at::Tensor& times, double decay_rate);

/// G_ij = exp(-decay_rate |t_i - t_j|), [n, n] float64, as a part of a sum; alone it is
/// far cheaper as MarkovTime. InputError as above.
at::Tensor markov_time_relationship(const at::Tensor& times, double decay_rate);

}  // namespace kinflow
