// A build without CUDA kernels.
#include <stdexcept>

#include "kinflow/flow/cuda_backend.h"

namespace kinflow {

std::optional<LatentResult> latents_by_cuda(const Flow& /*flow*/,
                                            const at::Tensor& /*data*/,
                                            const at::Tensor& /*context*/) {
  return {};
}

std::optional<at::Tensor> row_log_density_by_cuda(const Flow& /*flow*/,
                                                  const at::Tensor& /*data*/,
                                                  const at::Tensor& /*context*/) {
  return {};
}

std::optional<at::Tensor> data_by_cuda(const Flow& /*flow*/,
                                       const at::Tensor& /*latents*/,
                                       const at::Tensor& /*context*/) {
  return {};
}

const GlowKernels& cuda_glow_kernels() {
  throw std::logic_error("this build has no CUDA kernels");
}

std::optional<double> free_device_memory() { return {}; }

std::optional<std::string> device_name() { return {}; }

}  // namespace kinflow
