// A build without CUDA kernels.
#include <stdexcept>

#include "kinflow/train/cuda_backend.h"

namespace kinflow {

std::unique_ptr<BatchPass> make_cuda_pass(const Flow& /*flow*/,
                                          const at::Tensor& /*data*/,
                                          const at::Tensor& /*context*/) {
  return nullptr;
}

std::unique_ptr<ReplicaTraining> make_cuda_training(
    TrainingState& /*state*/, const Dependence& /*dependence*/,
    const Blocks* /*blocks*/, const at::Tensor& /*data*/, const at::Tensor& /*context*/,
    const std::vector<TrainOptions>& /*options*/) {
  return nullptr;
}

void dequantize_by_cuda(const at::Tensor& /*pixels*/, std::int64_t /*bits*/,
                        const at::Tensor& /*rows*/, const PixelNoise& /*noise*/,
                        const at::Tensor& /*images*/) {
  throw std::logic_error("this build has no CUDA kernels");
}

void adamax_by_cuda(Adamax& /*optimizer*/, at::Tensor& /*values*/,
                    const at::Tensor& /*gradient*/, const FlatStep& /*step*/,
                    const at::Tensor& /*rate*/, const at::Tensor& /*factor*/,
                    const at::Tensor& /*sound*/) {
  throw std::logic_error("this build has no CUDA kernels");
}

void give_back_device_memory() {}

std::unique_ptr<RepeatedWork> make_repeated_work(std::function<void()> /*work*/) {
  return nullptr;
}

}  // namespace kinflow
