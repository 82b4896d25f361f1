// What the kernel of an epoch reads and writes, and its launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kinflow/engine/cuda/epoch_cuda.h"
#include "kinflow/flow/cuda/device_flow.h"

namespace kinflow {

/// Sums are taken over pieces of this many numbers, and then over the pieces: no thread
/// adds up a long list, and the order of additions is fixed.
constexpr int kPiece = 32;

/// The structure of blocks in device memory. "Correlated" blocks have a parameter; they
/// are numbered in the order of their parameters.
struct DeviceBlocks {
  int blocks, correlated, parameters;
  const int* block_of_row;      ///< [n]
  const int* sizes;             ///< [B]
  const int* parameter;         ///< [B], -1 without
  const int* correlated_block;  ///< [correlated], and below what belongs to them
  const int* correlated_parameter;
  const int* correlated_size;
  const int* place;        ///< [B], the block's number among them; -1 without
  const int* begin;        ///< [k + 1], first correlated block of a parameter
  const int* sorted_rows;  ///< [n], in the order of their blocks
  const int* row_begin;    ///< [B + 1], into sorted_rows
};

/// An epoch's batches, each sorted by block so that a block's rows follow each other.
struct DeviceSchedule {
  int rows, batches, largest;
  const int* bounds;                 ///< [batches + 1]
  const std::int64_t* sorted_order;  ///< [n]
  const int* run_begin;  ///< [n], first place of the row's block in its batch
  const int* run_end;    ///< [n]
};

/// Memory of one thread block for the replica it trains.
struct DeviceSlot {
  float* layers;      ///< [couplings + 1, b, p]
  float* log_slopes;  ///< [b]
  float* grad;        ///< [b, p]
  float* values;      ///< the replica's image, and below those of what belongs to it
  float* first_moment;
  float* infinity_norm;
  float* gradient;
  float4* stash;
  double* sums;                ///< [b, 2 p + 2]: of pieces and runs of the batch
  double* block_sums;          ///< [B, p], of the memory's latents
  double* block_squares;       ///< [B]
  double* block_gradient;      ///< [correlated]
  double* parameter_gradient;  ///< [k]
};

struct EpochArguments {
  DeviceSchedule schedule;
  DeviceBlocks blocks;
  DeviceSlot first_slot;
  int largest_batch;
  std::int64_t stash_items;
  EpochRows rows;
  EpochReplicas replicas;
  const float* decay_mask;  ///< image

  __device__ DeviceSlot slot(const DeviceFlow& flow) const {
    const std::int64_t at = blockIdx.x, b = largest_batch, p = flow.dimension;
    const DeviceSlot& s = first_slot;
    return {.layers = s.layers + at * (flow.couplings + 1) * b * p,
            .log_slopes = s.log_slopes + at * b,
            .grad = s.grad + at * b * p,
            .values = s.values + at * flow.image_floats,
            .first_moment = s.first_moment + at * flow.image_floats,
            .infinity_norm = s.infinity_norm + at * flow.image_floats,
            .gradient = s.gradient + at * flow.image_floats,
            .stash = s.stash + at * stash_items,
            .sums = s.sums + at * b * (2 * p + 2),
            .block_sums = s.block_sums + at * blocks.blocks * p,
            .block_squares = s.block_squares + at * blocks.blocks,
            .block_gradient = s.block_gradient + at * blocks.correlated,
            .parameter_gradient = s.parameter_gradient + at * blocks.parameters};
  }
};

/// The kernel of an epoch. Instances are in epoch_shape_*.cu.
template <typename S>
struct EpochLaunch {
  /// Blocks that a multiprocessor runs at the same time.
  static int resident(int threads, std::size_t shared_bytes);
  /// @param stream  a cudaStream_t
  static void run(std::int64_t blocks, int threads, std::size_t shared_bytes,
                  void* stream, const DeviceFlow& flow,
                  const EpochArguments& arguments);
};

}  // namespace kinflow
