// Training on a GPU by fused kernels, where the build has them.
#pragma once

#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/engine/batch_pass.h"
#include "kinflow/engine/replica_training.h"

namespace kinflow {

/// As make_batch_pass(), for arrays on a GPU: by fused kernels where there are any for
/// the flow's shape and type.
std::unique_ptr<BatchPass> make_device_pass(const Flow& flow, const Array& data,
                                            const Array& context, Engine engine);
/// As make_replica_training(), for arrays on a GPU. Null where there are no kernels for
/// the flow's shape and type.
/// @param blocks  null: rows are independent
std::unique_ptr<ReplicaTraining> make_cuda_training(
    TrainingState& state, const Dependence& dependence, const Blocks* blocks,
    const Array& data, const Array& context, const std::vector<TrainOptions>& options);

/// Gives the memory that finished trainings had on a GPU back to the device: LibTorch
/// keeps it for the queue that took it, and that of recorded work for nobody. Waits for
/// the device. Does nothing in a build without CUDA.
void give_back_device_memory();

}  // namespace kinflow
