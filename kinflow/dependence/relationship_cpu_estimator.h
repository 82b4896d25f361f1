// The estimators of a relationship on the CPU, without a copy of the batch's rows of Q.
#pragma once

#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/batch_estimator.h"
#include "kinflow/dependence/relationship.h"

namespace kinflow {

/// For latents of the type float32 or float64 on the CPU. Products with Q are taken in
/// that type, sums over more than a batch in float64. The work is shared among the
/// process's team; the result does not depend on its size, nor a replica's on the
/// others.
std::unique_ptr<BatchEstimator> make_relationship_cpu_estimator(
    const Relationship& relationship, const std::vector<EstimatorChoice>& choices,
    nd::ScalarType type);

}  // namespace kinflow
