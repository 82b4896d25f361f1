// The gradient estimators of blocks inside a thread block: the algebra of
// dependence/blocks.cpp for the replica that the thread block trains.
#pragma once

#include "kinflow/engine/cuda/epoch_state.h"

namespace kinflow {

/// Adds a number of every lane, in a fixed order; all lanes get the sum.
__device__ __forceinline__ double warp_sum(double number) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    number += __shfl_xor_sync(0xffffffffu, number, step);
  return number;
}

/// The same for the threads of a block.
/// @param scratch  in shared memory, a number for each warp
__device__ inline double block_sum(double number, double* scratch) {
  number = warp_sum(number);
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
                        int block)
      : BlockTerms(blocks.parameter[block] < 0
                       ? 0.0
                       : correlation_of(unconstrained[blocks.parameter[block]]),
                   blocks.sizes[block]) {}
  __device__ BlockTerms(double rho, int size)
      : correlation(rho),
        other_rows(static_cast<double>(size - 1)),
        along(1.0 + rho * other_rows),
        across(1.0 - rho) {}
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

/// Adds one column of every `step`-th row that a block remembers, and its squares.
__device__ __forceinline__ void sum_block_column(const EstimatorBatch& batch, int block,
                                                 int first, int step, int column,
                                                 double& sum, double& squares) {
  const DeviceBlocks& blocks = batch.blocks;
  // Rows lie apart: what counts is how many are under way.
  constexpr int kAtOnce = 8;
  const int end = blocks.row_begin[block + 1];
  for (int i = blocks.row_begin[block] + first; i < end; i += kAtOnce * step) {
    int row[kAtOnce];
    float latent[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      row[k] = i + k * step < end ? blocks.sorted_rows[i + k * step] : -1;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      latent[k] =
          row[k] >= 0
              ? batch.memory[static_cast<std::int64_t>(row[k]) * batch.p + column]
              : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const double u = latent[k];
      sum += u;
      squares += u * u;
    }
  }
}

/// Sums of all blocks from the remembered latents. All threads must call it.
__device__ __forceinline__ void sum_memory(const EstimatorBatch& batch) {
  const DeviceBlocks& blocks = batch.blocks;
  // Large blocks take a warp each.
  for (int b = threadIdx.x; b < blocks.blocks; b += blockDim.x) {
    if (blocks.sizes[b] > kPiece) continue;
    double squares = 0;
    for (int c = 0; c < batch.p; ++c) {
      double sum = 0;
      sum_block_column(batch, b, 0, 1, c, sum, squares);
      batch.slot.block_sums[b * batch.p + c] = sum;
    }
    batch.slot.block_squares[b] = squares;
  }
  const int lane = static_cast<int>(threadIdx.x) & 31;
  for (int b = static_cast<int>(threadIdx.x) / 32; b < blocks.blocks;
       b += static_cast<int>(blockDim.x) / 32) {
    if (blocks.sizes[b] <= kPiece) continue;
    double squares = 0;
    for (int c = 0; c < batch.p; ++c) {
      double sum = 0;
      sum_block_column(batch, b, lane, 32, c, sum, squares);
      sum = warp_sum(sum);
      if (lane == 0) batch.slot.block_sums[b * batch.p + c] = sum;
    }
    squares = warp_sum(squares);
    if (lane == 0) batch.slot.block_squares[b] = squares;
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

/// Terms of a correlated block, by its number among these.
__device__ __forceinline__ BlockTerms correlated_terms(const EstimatorBatch& batch,
                                                       int i) {
  const DeviceBlocks& blocks = batch.blocks;
  return {correlation_of(batch.unconstrained[blocks.correlated_parameter[i]]),
          blocks.correlated_size[i]};
}

/// log det C. All threads must call it.
__device__ __forceinline__ double block_log_det(const EstimatorBatch& batch,
                                                double* scratch) {
  double sum = 0;
  for (int i = threadIdx.x; i < batch.blocks.correlated; i += blockDim.x) {
    const BlockTerms terms = correlated_terms(batch, i);
    sum += log(terms.along) + terms.other_rows * log(terms.across);
  }
  return block_sum(sum, scratch);
}

/// Adds the trace's part of the pairs' estimate to the gradients of the batch's blocks.
__device__ __forceinline__ void add_pairs_gradient(const EstimatorBatch& batch) {
  const DeviceBlocks& blocks = batch.blocks;
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
    batch.slot.block_gradient[blocks.place[block]] +=
        scale * (diagonal * sums[batch.p] +
                 batch.pair_weight * off_diagonal * (square_of_sum - sums[batch.p]));
  }
}

/// The gradient of the objective in the parameters on their unbounded scale, the
/// prior's included, divided by the number of rows: into slot.parameter_gradient, after
/// sum_batch(). It is exact for the remembered latents, or from the batch's pairs where
/// there is no memory. All threads must call it; they learn whether it is finite.
__device__ __forceinline__ bool estimate_parameter_gradient(const EstimatorBatch& batch,
                                                            double prior) {
  const DeviceBlocks& blocks = batch.blocks;
  const double columns = batch.p;
  const bool has_memory = batch.memory != nullptr;
  // A thread reads again what it wrote, unless others add to it.
  const bool is_shared = !has_memory || blocks.correlated != blocks.parameters;
  double* gradient = batch.slot.block_gradient;
  for (int i = threadIdx.x; i < blocks.correlated; i += blockDim.x) {
    const BlockTerms terms = correlated_terms(batch, i);
    if (!has_memory) {
      gradient[i] =
          columns * terms.other_rows * (1.0 / terms.along - 1.0 / terms.across);
      continue;
    }
    const int block = blocks.correlated_block[i];
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
  if (is_shared) {
    __syncthreads();
    if (!has_memory) add_pairs_gradient(batch);
    __syncthreads();
  }
  if (blocks.correlated != blocks.parameters) {
    // Pieces of a parameter's blocks; its pieces below.
    for (int i = threadIdx.x; i < blocks.correlated; i += blockDim.x) {
      const int parameter = blocks.correlated_parameter[i];
      if ((i - blocks.begin[parameter]) % kPiece != 0) continue;
      double sum = gradient[i];
      const int end = min(i + kPiece, blocks.begin[parameter + 1]);
      for (int j = i + 1; j < end; ++j) sum += gradient[j];
      gradient[i] = sum;
    }
    __syncthreads();
  }
  bool sound = true;
  for (int k = threadIdx.x; k < blocks.parameters; k += blockDim.x) {
    double sum = 0;
    for (int j = blocks.begin[k]; j < blocks.begin[k + 1]; j += kPiece)
      sum += gradient[j];
    const double rho = correlation_of(batch.unconstrained[k]);
    const double per_row = (0.5 * sum * rho * (1.0 - rho) + prior * (2.0 * rho - 1.0)) /
                           static_cast<double>(batch.schedule.rows);
    batch.slot.parameter_gradient[k] = per_row;
    sound = sound && isfinite(per_row);
  }
  return __syncthreads_and(sound) != 0;
}

}  // namespace kinflow
