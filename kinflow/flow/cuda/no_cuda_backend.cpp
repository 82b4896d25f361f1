// A build without CUDA kernels.
#include <stdexcept>

#include "kinflow/array/array.h"
#include "kinflow/flow/cuda/cuda_backend.h"
#include "kinflow/flow/glow/glow_kernels.h"

namespace kinflow {

std::optional<LatentResult> latents_by_cuda(const Flow& /*flow*/, const Array& /*data*/,
                                            const Array& /*context*/) {
  return {};
}

std::optional<Array> row_log_density_by_cuda(const Flow& /*flow*/,
                                             const Array& /*data*/,
                                             const Array& /*context*/) {
  return {};
}

std::optional<Array> data_by_cuda(const Flow& /*flow*/, const Array& /*latents*/,
                                  const Array& /*context*/) {
  return {};
}

const GlowKernels& cuda_glow_kernels() {
  throw std::logic_error("this build has no CUDA kernels");
}

std::optional<double> free_device_memory() { return {}; }

std::optional<std::string> device_name() { return {}; }

}  // namespace kinflow
