// Launches of fused kernels: the template instance of a flow, and the shared memory it
// asks for. Included by the sources that nvcc compiles.
#pragma once

#include <cstdint>

#include "kinflow/core/cuda_memory.h"
#include "kinflow/flow/fused_cuda.cuh"

namespace kinflow {

/// Shared memory of one block on compute capability 9.0.
inline constexpr std::int64_t kMostBlockBytes = 227 * 1024;

/// Calls use.template operator()<S>() with the Shape that the enum names.
template <typename Use>
void with_shape(FusedShape shape, const Use& use) {
  switch (shape) {
    case FusedShape::common:
      use.template operator()<CommonShape>();
      return;
#ifndef KINFLOW_ONE_SHAPE
    case FusedShape::regular:
      use.template operator()<RegularShape>();
      return;
    case FusedShape::narrow:
      use.template operator()<NarrowShape>();
      return;
    case FusedShape::wide:
      use.template operator()<WideShape>();
      return;
#else
    default:
      break;
#endif
    case FusedShape::none:
      break;
  }
  throw std::runtime_error("the flow is too large for fused CUDA kernels");
}

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
            std::size_t shared_bytes, void* stream, const Arguments&... arguments) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)),
             "asking for shared memory");
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes,
           static_cast<cudaStream_t>(stream)>>>(arguments...);
  check_cuda(cudaGetLastError(), "launching a kernel");
}

}  // namespace kinflow
