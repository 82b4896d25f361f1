// Replicas side by side in one matrix, so that one product serves all.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"

namespace kinflow {

/// Latents [R, b, p] as a matrix [b, R p].
inline Array side_by_side(const Array& latents) {
  return latents.transpose(0, 1).reshape({latents.size(1), -1});
}

/// The way back: [b, R p] as [R, b, p].
inline Array apart(const Array& matrix, std::int64_t replicas) {
  return matrix.view({matrix.size(0), replicas, -1}).transpose(0, 1);
}

/// Sums over the columns of each replica: [R]. @param matrix [b, R p]
inline Array sum_by_replica(const Array& matrix, std::int64_t replicas) {
  return matrix.sum(0).view({replicas, -1}).sum(1);
}

}  // namespace kinflow
