// A build without CUDA kernels.
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

std::unique_ptr<RepeatedWork> make_repeated_work(std::function<void()> /*work*/) {
  return nullptr;
}

}  // namespace kinflow
