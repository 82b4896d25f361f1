// Relationship matrices, and factors of them, made from other data.

#include "kinflow/array/array.h"
#pragma once

namespace kinflow {

/// Z [n, k] with Z Z' the correlation matrix of the rows of a table of principal
/// components: every row is centred over its k components and scaled to length 1. To be
/// decomposed by decompose_factor(), so that the n x n matrix is never formed.
/// InputError where a row is not finite or has equal components, and below k = 2.
/// @param components [n, k]
Array principal_component_factor(const Array& components);

/// G_ij = exp(-decay_rate (t_i - t_j)^2), [n, n] float64. InputError where times are
/// not finite numbers [n] or the rate is not positive.
Array gaussian_time_relationship(const Array& times, double decay_rate);

/// G_ij = exp(-decay_rate |t_i - t_j|), [n, n] float64, as a part of a sum; alone it is
/// far cheaper as MarkovTime. InputError as above.
Array markov_time_relationship(const Array& times, double decay_rate);

}  // namespace kinflow
