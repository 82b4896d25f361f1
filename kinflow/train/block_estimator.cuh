// The gradient estimators of blocks inside a thread block: the algebra of
// dependence/blocks.cpp for the replica that the thread block trains.
#pragma once

#include "kinflow/train/epoch_state.h"

namespace kinflow {

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

/// Distance that correlations keep from 0 and 1, as in Dependence.
constexpr double kSmallestCorrelation = 1e-9;

__device__ inline double correlation_of(double unconstrained) {
  const double share = 1.0 / (1.0 + exp(-unconstrained));
  return fmin(fmax(share, kSmallestCorrelation), 1.0 - kSmallestCorrelation);
}

/// Eigenvalues of a block's correlation matrix.
struct BlockTerms {
  double correlation, other_rows, along, across;
  __device__ BlockTerms(const DeviceBlocks& blocks, const double* unconstrained,
                        int block) {
    const int parameter = blocks.parameter[block];
    correlation = parameter < 0 ? 0.0 : correlation_of(unconstrained[parameter]);
    other_rows = static_cast<double>(blocks.sizes[block] - 1);
    along = 1.0 + correlation * other_rows;
    across = 1.0 - correlation;
  }
};

/// Latents that overflowed count as 0, so that sums of latents stay sound.
__device__ __forceinline__ float finite_or_zero(float x) {
  return isfinite(x) ? x : 0.0f;
}

/// One batch of a replica.
struct EstimatorBatch {
  const DeviceSchedule& schedule;
  const DeviceBlocks& blocks;
  const DeviceSlot& slot;
  int begin, count, p;
  const float* latents;         ///< [count, p]
  float* memory;                ///< [n, p], or null
  const double* unconstrained;  ///< [k]
  double pair_weight;           ///< (n - 1) / (b - 1)
  double* all_sums;  ///< [count, 2 p + 2], in shared memory where there is room

  __device__ int row(int i) const {
    return static_cast<int>(schedule.sorted_order[begin + i]);
  }
  __device__ int run_begin(int i) const { return schedule.run_begin[begin + i]; }
  __device__ int run_end(int i) const { return schedule.run_end[begin + i]; }
  /// Sums of latents [p], of squares [1], and of changes of both [p + 1].
  __device__ double* sums(int i) const { return all_sums + i * (2 * p + 2); }
};

/// Sums of one block's remembered latents over every `step`-th of its rows.
/// @param c  column; p: the sum of squares of all columns
__device__ inline double sum_of_block(const EstimatorBatch& batch, int block, int first,
                                      int step, int c) {
  const DeviceBlocks& blocks = batch.blocks;
  double sum = 0;
#pragma unroll 4
  for (int i = blocks.row_begin[block] + first; i < blocks.row_begin[block + 1];
       i += step) {
    const float* row =
        batch.memory + static_cast<std::int64_t>(blocks.sorted_rows[i]) * batch.p;
    if (c < batch.p) {
      sum += row[c];
      continue;
    }
    for (int k = 0; k < batch.p; ++k)
      sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
  }
  return sum;
}

/// Sums of all blocks from the remembered latents. All threads must call it.
__device__ __forceinline__ void sum_memory(const EstimatorBatch& batch) {
  const DeviceBlocks& blocks = batch.blocks;
  const auto put = [&](int block, int c, double sum) {
    (c < batch.p ? batch.slot.block_sums[block * batch.p + c]
                 : batch.slot.block_squares[block]) = sum;
  };
  // Large blocks take a warp each.
  for (int b = threadIdx.x; b < blocks.blocks; b += blockDim.x) {
    if (blocks.sizes[b] > kPiece) continue;
    for (int c = 0; c <= batch.p; ++c) put(b, c, sum_of_block(batch, b, 0, 1, c));
  }
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int b = static_cast<int>(threadIdx.x) / 32; b < blocks.blocks;
       b += static_cast<int>(blockDim.x) / 32) {
    if (blocks.sizes[b] <= kPiece) continue;
    for (int c = 0; c <= batch.p; ++c) {
      double sum = sum_of_block(batch, b, lane, 32, c);
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
      if (lane == 0) put(b, c, sum);
    }
  }
  __syncthreads();
}

/// Sums over the rows of every block in the batch; the memory takes the new latents.
/// All threads must call it.
__device__ __forceinline__ void sum_batch(const EstimatorBatch& batch) {
  const int p = batch.p, numbers = 2 * p + 2;
  for (int i = threadIdx.x; i < batch.count; i += blockDim.x) {
    double* sums = batch.sums(i);
    float* remembered =
        batch.memory == nullptr
            ? nullptr
            : batch.memory + static_cast<std::int64_t>(batch.row(i)) * p;
    double square = 0, square_change = 0;
    for (int c = 0; c < p; ++c) {
      const float latent = finite_or_zero(batch.latents[i * p + c]);
      const double u = latent;
      double before = u;
      if (remembered != nullptr) {
        before = remembered[c];
        remembered[c] = latent;
      }
      sums[c] = u;
      square += u * u;
      sums[p + 1 + c] = u - before;
      square_change += (u - before) * (u + before);
    }
    sums[p] = square;
    sums[2 * p + 1] = square_change;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < batch.count; i += blockDim.x) {
    if ((i - batch.run_begin(i)) % kPiece != 0) continue;
    const int end = min(i + kPiece, batch.run_end(i));
    for (int c = 0; c < numbers; ++c) {
      double sum = batch.sums(i)[c];
#pragma unroll 4
      for (int j = i + 1; j < end; ++j) sum += batch.sums(j)[c];
      batch.sums(i)[c] = sum;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < batch.count; i += blockDim.x) {
    if (i != batch.run_begin(i)) continue;
    const int block = batch.blocks.block_of_row[batch.row(i)];
    for (int c = 0; c < numbers; ++c) {
      double sum = batch.sums(i)[c];
      for (int j = i + kPiece; j < batch.run_end(i); j += kPiece)
        sum += batch.sums(j)[c];
      batch.sums(i)[c] = sum;
      if (batch.memory == nullptr || c <= p) continue;
      (c == 2 * p + 1 ? batch.slot.block_squares[block]
                      : batch.slot.block_sums[block * p + c - p - 1]) += sum;
    }
  }
  __syncthreads();
}

/// Element `c` of the estimated row of C^-1 U of the batch's row i, after sum_batch().
__device__ inline float precision_element(const EstimatorBatch& batch,
                                          const BlockTerms& terms, int i, int c,
                                          int block, double memory_share) {
  const double u = finite_or_zero(batch.latents[i * batch.p + c]);
  const double share = terms.correlation / terms.along;
  double pairs = 0, remembered = 0;
  if (memory_share < 1) {
    const double others = batch.sums(batch.run_begin(i))[c] - u;
    pairs = (u - share * (u + batch.pair_weight * others)) / terms.across;
    if (memory_share == 0) return static_cast<float>(pairs);
  }
  remembered = (u - share * batch.slot.block_sums[block * batch.p + c]) / terms.across;
  if (memory_share == 1) return static_cast<float>(remembered);
  return static_cast<float>(
      memory_share < 0.5 ? pairs + memory_share * (remembered - pairs)
                         : remembered - (remembered - pairs) * (1 - memory_share));
}

/// log det C. All threads must call it.
__device__ __forceinline__ double block_log_det(const EstimatorBatch& batch,
                                                double* scratch) {
  double sum = 0;
  for (int i = threadIdx.x; i < batch.blocks.correlated; i += blockDim.x) {
    const BlockTerms terms(batch.blocks, batch.unconstrained,
                           batch.blocks.correlated_block[i]);
    sum += log(terms.along) + terms.other_rows * log(terms.across);
  }
  return block_sum(sum, scratch);
}

/// The gradient of the objective in the parameters, into slot.parameter_gradient, after
/// sum_batch(): exact for the remembered latents, or from the batch's pairs where there
/// is no memory. All threads must call it.
__device__ __forceinline__ void estimate_parameter_gradient(
    const EstimatorBatch& batch) {
  const DeviceBlocks& blocks = batch.blocks;
  const double columns = batch.p;
  double* gradient = batch.slot.block_gradient;
  for (int i = threadIdx.x; i < blocks.correlated; i += blockDim.x) {
    const int block = blocks.correlated_block[i];
    const BlockTerms terms(blocks, batch.unconstrained, block);
    if (batch.memory == nullptr) {
      gradient[i] =
          columns * terms.other_rows * (1.0 / terms.along - 1.0 / terms.across);
      continue;
    }
    double along = 0;
    for (int c = 0; c < batch.p; ++c) {
      const double sum = batch.slot.block_sums[block * batch.p + c];
      along += sum * sum;
    }
    along /= terms.other_rows + 1.0;
    const double across = fmax(batch.slot.block_squares[block] - along, 0.0);
    gradient[i] = terms.other_rows / terms.along * (columns - along / terms.along) -
                  (columns * terms.other_rows - across / terms.across) / terms.across;
  }
  __syncthreads();
  if (batch.memory == nullptr) {
    const double scale =
        static_cast<double>(batch.schedule.rows) / static_cast<double>(batch.count);
    for (int i = threadIdx.x; i < batch.count; i += blockDim.x) {
      if (i != batch.run_begin(i)) continue;
      const int block = blocks.block_of_row[batch.row(i)];
      if (blocks.place[block] < 0) continue;
      const BlockTerms terms(blocks, batch.unconstrained, block);
      const double product = terms.along * terms.across;
      // Derivatives of the elements of C^-1 in the correlation.
      const double off_diagonal =
          -(1.0 + terms.other_rows * terms.correlation * terms.correlation) /
          (product * product);
      const double diagonal = 1.0 / (terms.across * terms.across) + off_diagonal;
      const double* sums = batch.sums(i);
      double square_of_sum = 0;
      for (int c = 0; c < batch.p; ++c) square_of_sum += sums[c] * sums[c];
      gradient[blocks.place[block]] +=
          scale * (diagonal * sums[batch.p] +
                   batch.pair_weight * off_diagonal * (square_of_sum - sums[batch.p]));
    }
    __syncthreads();
  }
  // Pieces of a parameter's blocks, and then its pieces.
  for (int i = threadIdx.x; i < blocks.correlated; i += blockDim.x) {
    const int parameter = blocks.parameter[blocks.correlated_block[i]];
    if ((i - blocks.begin[parameter]) % kPiece != 0) continue;
    double sum = gradient[i];
    const int end = min(i + kPiece, blocks.begin[parameter + 1]);
    for (int j = i + 1; j < end; ++j) sum += gradient[j];
    gradient[i] = sum;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < blocks.parameters; k += blockDim.x) {
    double sum = 0;
    for (int j = blocks.begin[k]; j < blocks.begin[k + 1]; j += kPiece)
      sum += gradient[j];
    batch.slot.parameter_gradient[k] = 0.5 * sum;
  }
  __syncthreads();
}

}  // namespace kinflow
