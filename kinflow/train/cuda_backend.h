// Training on a GPU by fused kernels and recorded work, where the build has them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/train/batch_pass.h"
#include "kinflow/train/images/image_kernels.h"
#include "kinflow/train/replica_training.h"

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

/// dequantize() and take_flat_step() for arrays on a GPU; std::logic_error where this
/// build has no CUDA kernels.
void dequantize_by_cuda(const Array& pixels, std::int64_t bits, const Array& rows,
                        const PixelNoise& noise, const Array& images);
void adamax_by_cuda(Adamax& optimizer, Array& values, const Array& gradient,
                    const FlatStep& step, const Array& rate, const Array& factor,
                    const Array& sound);

/// Gives the memory that finished trainings had on a GPU back to the device: LibTorch
/// keeps it for the queue that took it, and that of recorded work for nobody. Waits for
/// the device. Does nothing in a build without CUDA.
void give_back_device_memory();

/// Work on a GPU that is done again and again.
class RepeatedWork {
 public:
  virtual ~RepeatedWork() = default;
  virtual void run() = 0;
};

/// Work that is recorded in its second run and from then on repeated by one launch,
/// which costs the CPU little, however many kernels it has. Null where this build has
/// no CUDA. A recording needs a stream of the thread's own (core/device_stream.h); on
/// the common one the work is done anew in each run.
/// @param work  queues the same kernels on the same memory each time, on the thread's
///              stream, and never waits for the GPU
std::unique_ptr<RepeatedWork> make_repeated_work(std::function<void()> work);

}  // namespace kinflow
