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

/// A linear layer; offsets `weight` and `bias` are into the values of a replica, `at`
/// and `bias_at` into the block's copy in shared memory. The copy's columns are padded
/// with zeros to a multiple of 16, so are its rows, except in a first layer.
struct DeviceLinear {
  int inputs, outputs;
  int weight, bias;
  int rows, columns;
  int stride;
  int at, bias_at;
  int stash;  ///< first item of its outputs among the kept ones; -1: not kept
};

struct DeviceCoupling {
  int unchanged, mapped;
  int column_begin;  ///< of the unchanged columns and then the mapped ones
  int linear_begin, linear_count;
  int log_scale, shift;
  int stash_begin, stash_items;  ///< counted over all couplings; items of this one
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
  int stash_items;   ///< of all couplings; an item is 16 bytes a lane
  int stage_stride;  ///< floats of a row of staged activations
  int weight_floats;
  const int* table;  ///< couplings, linears and columns, one after the other

  __host__ __device__ int table_ints() const {
    return couplings * static_cast<int>(sizeof(DeviceCoupling) / sizeof(int)) +
           linears * static_cast<int>(sizeof(DeviceLinear) / sizeof(int)) + columns;
  }
  /// Floats of shared memory for the table, a multiple of 4.
  __host__ __device__ int table_floats() const { return (table_ints() + 3) / 4 * 4; }
};

/// The kernels' template instances; see Shape in fused_cuda.cuh.
enum class FusedShape { common, narrow, wide, none };

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
  DeviceArray<int> table_;
};

/// Warps of a block that maps rows to latents or back.
inline constexpr int kForwardWarps = 8;
/// Shared memory that a training block may use beyond the flow's own.
inline constexpr std::size_t kTrainScratchBytes = 1024;

}  // namespace kinflow
