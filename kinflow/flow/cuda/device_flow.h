// A flow's plan as fused CUDA kernels read it: padded layouts in shared memory and
// plain integers. Included by the sources that nvcc compiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kinflow/core/cuda_memory.h"
#include "kinflow/flow/flow_plan.h"

namespace kinflow {

/// Rows that one warp works on at a time.
inline constexpr int kWarpRows = 16;

/// Where a column of a row of weights is: columns of rows 4 to 7 of each 8 are
/// exchanged with their neighbours 8 further on. Walks along rows and along columns, as
/// the products in tensor_products.cuh take them, are then both free of bank conflicts.
__host__ __device__ inline int swizzled(int row, int column) {
  return column ^ ((row & 4) << 1);
}

/// Kernels keep the values of a coupling layer as an image: weights, biases and ActNorm
/// as they lie in shared memory, padded with zeros. An image of a replica holds those
/// of all its couplings.
///
/// A linear layer; `at` and `bias_at` are places in its coupling's image. Columns are
/// padded to a multiple of 16, so are rows, except in a first layer.
struct DeviceLinear {
  int inputs;
  int rows, columns;
  int stride;
  int at, bias_at;
  int stash;  ///< first item of its outputs among the kept ones; -1: not kept
};

struct DeviceCoupling {
  int unchanged, mapped;
  int column_begin;  ///< of the unchanged columns and then the mapped ones
  int linear_begin, linear_count;
  int log_scale, shift;          ///< of ActNorm in the image; -1 without
  int stash_begin, stash_items;  ///< counted over all couplings; items of this one
  int image, image_floats;       ///< place in the replica's image; a multiple of 4
  int values, value_count;       ///< place in the replica's values
};

/// Everything but the tables, passed to kernels by value.
struct DeviceFlow {
  bool is_spline;
  int dimension, context, bins;
  int parameters_per_column;
  int columns_per_chunk;  ///< mapped columns whose parameters are made together
  int chunk_width;        ///< their parameters, padded to a multiple of 16
  float bound;
  int parameters;
  int couplings, linears, columns;
  int stash_items;    ///< of all couplings; an item is 16 bytes a lane
  int stage_stride;   ///< floats of a row of staged activations
  int weight_floats;  ///< of the largest image of a coupling
  int image_floats;   ///< of the replica's image
  const int* table;   ///< couplings, linears and columns, one after the other
  const int* places;  ///< [P], places of the values in the replica's image

  __host__ __device__ int table_ints() const {
    return couplings * static_cast<int>(sizeof(DeviceCoupling) / sizeof(int)) +
           linears * static_cast<int>(sizeof(DeviceLinear) / sizeof(int)) + columns;
  }
  /// Floats of shared memory for the table, a multiple of 4.
  __host__ __device__ int table_floats() const { return (table_ints() + 3) / 4 * 4; }
};

/// The kernels' template instances; see Shape in fused_cuda.cuh.
enum class FusedShape { common, regular, narrow, wide, none };

/// A plan on the device, with the launch shape that suits it.
class FlowOnDevice {
 public:
  /// What a plan needs, known without a device.
  struct Needs {
    FusedShape shape = FusedShape::none;
    int warps = 0;                  ///< of a block that trains
    std::size_t forward_bytes = 0;  ///< shared memory of a block that maps rows
    std::size_t train_bytes = 0;    ///< shared memory of a block that trains
  };
  static Needs needs(const FlowPlan& plan);

  explicit FlowOnDevice(const FlowPlan& plan);
  const DeviceFlow& flow() const { return flow_; }
  const Needs& needs() const { return needs_; }

 private:
  Needs needs_;
  DeviceFlow flow_{};
  DeviceArray<int> table_, places_;
};

/// Groups of 16 rows for which a block keeps results: those of `rows` rows, padded to
/// whole tiles of all its warps.
__host__ __device__ inline std::int64_t stash_groups(std::int64_t rows, int warps) {
  const std::int64_t tile = static_cast<std::int64_t>(warps) * kWarpRows;
  return (rows + tile - 1) / tile * warps;
}

/// Warps of a block that maps rows to latents or back.
inline constexpr int kForwardWarps = 8;
/// Shared memory that a training block may use beyond the flow's own.
inline constexpr std::size_t kTrainScratchBytes = 1024;

}  // namespace kinflow
