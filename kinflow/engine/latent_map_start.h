// Where the last linear map of a flow begins.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// The map W [p, p] float64 for which W x of standardised rows has uncorrelated columns
/// of variance 1 that differ most in how alike the rows of a block are: the
/// eigenvectors of the covariance inside blocks against the whole covariance, the least
/// first. The identity for laws without blocks, and where the covariances have no
/// factor.
/// @param rows   [n, p] float64 on the CPU, standardised
/// @param worth  [n], weights of the rows
Array latent_map_start(const Dependence& law, const Array& rows, const Array& worth);

}  // namespace kinflow
