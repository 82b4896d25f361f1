// The template instances of fused kernels, and launches of one of them. Each is
// compiled in a source of its own. Included by the sources that nvcc compiles.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>

#include "kinflow/core/cuda_memory.h"
#include "kinflow/flow/cuda/device_flow.h"

namespace kinflow {

/// What a kernel knows of the flow when it is compiled. kTiles bounds the widths of
/// hidden layers and chunks, in tiles of 8 columns; other numbers are 0 where they are
/// read from the plan.
template <int kTiles_, int kBlocks_, int kHiddenTiles_ = 0, int kChunkTiles_ = 0,
          int kBins_ = 0, int kStageStride_ = 0, int kLinears_ = 0>
struct Shape {
  static constexpr int kTiles = kTiles_;
  static constexpr int kBlocks = kBlocks_;  ///< blocks that a multiprocessor holds
  static constexpr int kHiddenTiles = kHiddenTiles_;
  static constexpr int kChunkTiles = kChunkTiles_;
  static constexpr int kBins = kBins_;
  static constexpr int kStageStride = kStageStride_;
  /// Linear layers of every conditioner; where known, one column is mapped in each.
  static constexpr int kLinears = kLinears_;
};
/// Splines of 16 bins and hidden layers of 64 columns: two of these for one mapped
/// column, as in flows of two columns, or any number for any columns.
using CommonShape = Shape<8, 2, 8, 6, 16, 72, 3>;
using RegularShape = Shape<8, 2, 8, 6, 16, 72>;
/// Widths of at most 64 columns, and of at most 128.
using NarrowShape = Shape<8, 2>;
using WideShape = Shape<16, 1>;

/// Shared memory of one block on compute capability 9.0.
inline constexpr std::int64_t kMostBlockBytes = 227 * 1024;

/// Calls use.template operator()<S>() with the Shape that the enum names.
template <typename Use>
void with_shape(FusedShape shape, const Use& use) {
  switch (shape) {
    case FusedShape::common:
      use.template operator()<CommonShape>();
      return;
    case FusedShape::regular:
      use.template operator()<RegularShape>();
      return;
    case FusedShape::narrow:
      use.template operator()<NarrowShape>();
      return;
    case FusedShape::wide:
      use.template operator()<WideShape>();
      return;
    case FusedShape::none:
      break;
  }
  throw std::runtime_error("the flow is too large for fused CUDA kernels");
}

/// Lets a kernel have as much shared memory as a block can have, whatever a launch then
/// takes: what a kernel may have is one number for all threads of the process.
template <typename... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...)) {
  static std::mutex mutex;
  static std::set<const void*> allowed;
  const std::lock_guard lock(mutex);
  const auto* address = reinterpret_cast<const void*>(kernel);
  if (allowed.count(address) > 0) return;
  int device = 0, largest = 0;
  cudaFuncAttributes attributes{};
  check_cuda(cudaGetDevice(&device), "looking for a device");
  check_cuda(
      cudaDeviceGetAttribute(&largest, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
      "asking for its shared memory");
  check_cuda(cudaFuncGetAttributes(&attributes, kernel), "looking at a kernel");
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           largest - static_cast<int>(attributes.sharedSizeBytes)),
      "asking for shared memory");
  allowed.insert(address);
}

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
            std::size_t shared_bytes, void* stream, const Arguments&... arguments) {
  allow_shared_memory(kernel);
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes,
           static_cast<cudaStream_t>(stream)>>>(arguments...);
  check_cuda(cudaGetLastError(), "launching a kernel");
}

}  // namespace kinflow
