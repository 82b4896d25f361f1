// Training on a GPU by fused kernels, where the build has them.
#pragma once

#include <memory>
#include <vector>

#include "kinflow/train/batch_pass.h"
#include "kinflow/train/replica_training.h"

namespace kinflow {

/// As make_batch_pass() and make_replica_training(), for tensors on a GPU. Null where
/// this build has no CUDA kernels, or none for the flow's shape and type.
std::unique_ptr<BatchPass> make_cuda_pass(const Flow& flow, const at::Tensor& data,
                                          const at::Tensor& context);
/// @param blocks  null: rows are independent
std::unique_ptr<ReplicaTraining> make_cuda_training(
    TrainingState& state, const Dependence& dependence, const Blocks* blocks,
    const at::Tensor& data, const at::Tensor& context,
    const std::vector<TrainOptions>& options);

}  // namespace kinflow
