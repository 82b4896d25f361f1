// Describing arrays to kernels.
#include "kinflow/flow/glow/kernels_of.h"

#include <stdexcept>

#include "kinflow/array/array.h"

namespace kinflow {

const GlowKernels& glow_kernels_of(nd::Device device) {
  return device.is_cpu() ? cpu_glow_kernels() : cuda_glow_kernels();
}

MatrixView view_of(const Array& tensor) {
  const bool is_row = tensor.dim() == 1;
  if (tensor.stride(-1) != 1 && tensor.size(-1) != 1) {
    throw std::logic_error("[view_of] expected rows that are contiguous");
  }
  const auto type = tensor.scalar_type();
  return {.data = tensor.data_ptr(),
          .rows = is_row ? 1 : tensor.size(0),
          .columns = tensor.size(-1),
          .stride = is_row ? tensor.size(0) : tensor.stride(0),
          .type = type == nd::kDouble  ? Number::float64
                  : type == nd::kFloat ? Number::float32
                                       : Number::bfloat16};
}

}  // namespace kinflow
