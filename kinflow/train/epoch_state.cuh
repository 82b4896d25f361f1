// What the kernel of an epoch reads and writes, and sums over a thread block.
#pragma once

#include <cstdint>

#include "kinflow/flow/device_flow.h"
#include "kinflow/train/epoch_cuda.h"

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
  const int* correlated_block;  ///< [correlated]
  const int* place;             ///< [B], the block's number among them; -1 without
  const int* begin;             ///< [k + 1], first correlated block of a parameter
  const int* sorted_rows;       ///< [n], in the order of their blocks
  const int* row_begin;         ///< [B + 1], into sorted_rows
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
  double* sums;            ///< [b, 2 p + 2]: of pieces and runs of the batch
  double* block_sums;      ///< [B, p], of the memory's latents
  double* block_squares;   ///< [B]
  double* block_gradient;  ///< [correlated]
  double* parameter_gradient;  ///< [k]
};

/// Adds a number of every thread, in a fixed order; all threads get the sum.
/// @param scratch  in shared memory, a number for each warp
__device__ inline double block_sum(double number, double* scratch) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    number += __shfl_xor_sync(0xffffffffu, number, step);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();
  if ((threadIdx.x & 31) == 0) scratch[warp] = number;
  __syncthreads();
  double total = 0;
  for (int i = 0; i < static_cast<int>(blockDim.x) / 32; ++i) total += scratch[i];
  return total;
}

}  // namespace kinflow
