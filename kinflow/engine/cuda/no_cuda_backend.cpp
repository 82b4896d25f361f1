// A build without CUDA kernels.
#include <stdexcept>

#include "kinflow/array/array.h"
#include "kinflow/engine/cuda/cuda_backend.h"
#include "kinflow/engine/images/image_kernels.h"
#include "kinflow/engine/repeated_work.h"

namespace kinflow {

std::unique_ptr<BatchPass> make_device_pass(const Flow& /*flow*/, const Array& /*data*/,
                                            const Array& /*context*/,
                                            Engine /*engine*/) {
  throw std::logic_error("this build has no CUDA kernels");
}

std::unique_ptr<ReplicaTraining> make_cuda_training(
    TrainingState& /*state*/, const Dependence& /*dependence*/,
    const Blocks* /*blocks*/, const Array& /*data*/, const Array& /*context*/,
    const std::vector<TrainOptions>& /*options*/) {
  return nullptr;
}

void dequantize_by_cuda(const Array& /*pixels*/, std::int64_t /*bits*/,
                        const Array& /*rows*/, const PixelNoise& /*noise*/,
                        const Array& /*images*/) {
  throw std::logic_error("this build has no CUDA kernels");
}

void adamax_by_cuda(Adamax& /*optimizer*/, Array& /*values*/, const Array& /*gradient*/,
                    const FlatStep& /*step*/, const Array& /*rate*/,
                    const Array& /*factor*/, const Array& /*sound*/) {
  throw std::logic_error("this build has no CUDA kernels");
}

void give_back_device_memory() {}

std::unique_ptr<RepeatedWork> make_repeated_work(std::function<void()> /*work*/) {
  return nullptr;
}

}  // namespace kinflow
