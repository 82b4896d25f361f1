// Gradients of coupling layers of one replica inside one thread block, from the results
// that the way to the latents kept.
#pragma once

#include "kinflow/flow/cuda/fused_cuda.cuh"

namespace kinflow {

/// Where the gradients of a replica go.
struct BlockGradient {
  float* data;      ///< [count, p]: in the layer's results, then in its inputs
  float* image;     ///< in the replica's values, as an image
  float log_slope;  ///< dLoss / dlog_abs_det, the same for every row
  float unsound;    ///< 0 while all numbers that this thread wrote are finite

  __device__ __forceinline__ void put(float* to, float value) {
    *to = value;
    unsound = fmaf(value, 0.0f, unsound);
  }
  __device__ __forceinline__ void put(float* to, float first, float second) {
    *reinterpret_cast<float2*>(to) = make_float2(first, second);
    unsound = fmaf(second, 0.0f, fmaf(first, 0.0f, unsound));
  }
};

/// The gradient of a linear layer over the rows of a tile: staged inputs times staged
/// gradients of the outputs, and the latter's sums for the bias.
/// @param at, bias_at  places of the layer's columns in the image of gradients
/// @param kFixed  tiles of 8 columns that a warp takes; 0: found at run time
template <typename S, int kFixed>
__device__ __forceinline__ void weight_gradient(const BlockFlow& block,
                                                const DeviceLinear& linear, int n_tiles,
                                                int at, int bias_at, bool is_first,
                                                bool adds, BlockGradient& gradient) {
  constexpr int kWide = kFixed > 0 ? kFixed : 4;
  const Lane lane;
  const int stride = block.stage_stride<S>();
  const int m_tiles = max(1, (linear.inputs + 15) / 16);
  // As many parts as warps, where the layer has no more rows than one tile.
  const int parts = kFixed > 0 ? n_tiles / kFixed
                               : max((n_tiles + kWide - 1) / kWide,
                                     min(n_tiles, block.warps / m_tiles));
  const int wide = kFixed > 0 ? kFixed : (n_tiles + parts - 1) / parts;
  for (int unit = block.warp; unit < m_tiles * parts; unit += block.warps) {
    const int part = unit / m_tiles, m = unit - part * m_tiles;
    const int tiles = kFixed > 0 ? kFixed : min(wide, n_tiles - part * wide);
    // Rows of a first layer are not padded; of the others all are there.
    const int row = m * 16 + lane.g;
    const bool has_row = !is_first || row < linear.inputs;
    const bool has_next = !is_first || row + 8 < linear.inputs;
    const int turn = is_first ? 0 : (lane.g & 4) << 1;
    float* to = gradient.image + at + row * linear.stride + 2 * lane.t;
    const auto place = [&](int j) { return to + ((part * wide + j) * 8 ^ turn); };
    // One lane of four holds the bias of a column.
    const bool has_bias = m == 0 && lane.t == 0;
    float* bias = gradient.image + bias_at + part * wide * 8 + lane.g;
    // Earlier tiles' gradients are loaded together, before there is work to wait for.
    float c[kWide][4] = {}, sums[kWide] = {};
    if (adds) {
#pragma unroll
      for (int j = 0; j < kWide; ++j) {
        if (j < tiles) {
          if (has_row) {
            const auto pair = *reinterpret_cast<const float2*>(place(j));
            c[j][0] = pair.x;
            c[j][1] = pair.y;
          }
          if (has_next) {
            const auto pair =
                *reinterpret_cast<const float2*>(place(j) + 8 * linear.stride);
            c[j][2] = pair.x;
            c[j][3] = pair.y;
          }
          if (has_bias) sums[j] = bias[8 * j];
        }
      }
    }
    const float* left_from = block.stage + lane.t * stride + m * 16 + lane.g;
    const float* right_from =
        block.stage_out + lane.t * stride + part * wide * 8 + lane.g;
#pragma unroll 2
    for (int r = 0; r < block.warps * kWarpRows; r += 8) {
      tensor_products::Left left;
      left.take(0, left_from[0]);
      left.take(1, left_from[8]);
      left.take(2, left_from[4 * stride]);
      left.take(3, left_from[4 * stride + 8]);
#pragma unroll
      for (int first = 0; first < kWide; first += tensor_products::kTilesAtOnce) {
        if (first < tiles) {
          tensor_products::step(c, left, first, tiles,
                                [&](int j, float& b0, float& b1) {
                                  b0 = right_from[8 * j];
                                  b1 = right_from[8 * j + 4 * stride];
                                  sums[j] += b0 + b1;
                                });
        }
      }
      left_from += 8 * stride;
      right_from += 8 * stride;
    }
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      if (j < tiles) {
        if (has_row) gradient.put(place(j), c[j][0], c[j][1]);
        if (has_next) gradient.put(place(j) + 8 * linear.stride, c[j][2], c[j][3]);
        if (m == 0) {
          float sum = sums[j];
          sum += __shfl_xor_sync(kAllLanes, sum, 1);
          sum += __shfl_xor_sync(kAllLanes, sum, 2);
          if (has_bias) gradient.put(bias + 8 * j, sum);
        }
      }
    }
  }
}

/// Adds d * w' of the first layer to the gradient in the unchanged columns.
template <int N>
__device__ __forceinline__ void backward_to_inputs(
    const BlockFlow& block, const DeviceCoupling& coupling, const DeviceLinear& linear,
    const float* weights, const float (&d)[N][4], int tiles, const BlockRows& rows,
    int first_row, BlockGradient& gradient, const Lane& lane) {
  const DeviceFlow& flow = block.flow;
  for (int i = 0; i < coupling.unchanged; ++i) {
    float sum0 = 0, sum1 = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (j < tiles) {
        const auto w = *reinterpret_cast<const float2*>(weights + i * linear.stride +
                                                        8 * j + 2 * lane.t);
        sum0 = fmaf(d[j][0], w.x, fmaf(d[j][1], w.y, sum0));
        sum1 = fmaf(d[j][2], w.x, fmaf(d[j][3], w.y, sum1));
      }
    }
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
      sum0 += __shfl_xor_sync(kAllLanes, sum0, step);
      sum1 += __shfl_xor_sync(kAllLanes, sum1, step);
    }
    const int row = first_row + lane.g + (lane.t == 1 ? 8 : 0);
    if (lane.t < 2 && row < rows.count) {
      const int at = row * flow.dimension + block.columns[coupling.column_begin + i];
      const bool passes = !flow.is_spline || fabsf(rows.in[at]) <= flow.bound;
      if (passes) gradient.data[at] += lane.t == 1 ? sum1 : sum0;
    }
  }
}

/// ActNorm: gradients in its values, and the gradient in its inputs in place of that in
/// its results.
/// @param results  [count, p], of ActNorm
__device__ __forceinline__ void normalize_backward(const BlockFlow& block,
                                                   const DeviceCoupling& coupling,
                                                   const float* results, int count,
                                                   BlockGradient& gradient) {
  if (coupling.log_scale < 0) return;
  const Lane lane;
  const int p = block.flow.dimension;
  for (int c = block.warp; c < p; c += block.warps) {
    const float scale = expf(block.weights[coupling.log_scale + c]);
    const float shift = block.weights[coupling.shift + c];
    float by_scale = 0, by_shift = 0;
    for (int row = lane.index; row < count; row += 32) {
      float& g = gradient.data[row * p + c];
      by_scale += g * (results[row * p + c] - shift);
      by_shift += g;
      g *= scale;
    }
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      by_scale += __shfl_xor_sync(kAllLanes, by_scale, step);
      by_shift += __shfl_xor_sync(kAllLanes, by_shift, step);
    }
    if (lane.index == 0) {
      float* image = gradient.image + coupling.image;
      gradient.put(image + coupling.log_scale + c,
                   by_scale + gradient.log_slope * static_cast<float>(count));
      gradient.put(image + coupling.shift + c, by_shift);
    }
  }
  __syncthreads();
}

/// What a layer got from its SiLU, z: its result goes to the staging rows, and d
/// becomes the gradient in z.
template <int N>
__device__ __forceinline__ void activation_backward(const float (&z)[N][4], int tiles,
                                                    float* stage, int stride,
                                                    float (&d)[N][4], bool is_complete,
                                                    const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      float a[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float share = sigmoid(z[j][i]);
        a[i] = z[j][i] * share;
        if (is_complete) d[j][i] *= fmaf(a[i], 1.0f - share, share);
      }
      float* p = stage + lane.g * stride + 8 * j + 2 * lane.t;
      *reinterpret_cast<float2*>(p) = make_float2(a[0], a[1]);
      *reinterpret_cast<float2*>(p + 8 * stride) = make_float2(a[2], a[3]);
    }
  }
}

/// The way back through one coupling layer for the rows of one tile of the block. All
/// threads must call it. On entry gradient.data holds the gradient in the layer's
/// results (before ActNorm), on return that in its inputs.
/// @param rows   `in`: the layer's inputs
/// @param stash  kept by map_rows(), of this replica
template <typename S>
__device__ __forceinline__ void backward_tile(const BlockFlow& block, int which,
                                              const BlockRows& rows, int tile,
                                              float4* stash, BlockGradient& gradient) {
  const DeviceFlow& flow = block.flow;
  const DeviceCoupling coupling = block.couplings[which];
  const DeviceLinear* linears = block.linears + coupling.linear_begin;
  const Lane lane;
  const RowLane row_lane;
  const int group = tile * block.warps + block.warp, first_row = group * kWarpRows;
  const int stride = block.stage_stride<S>();
  float* stage = block.stage + block.warp * kWarpRows * stride;
  float* stage_out = block.stage_out + block.warp * kWarpRows * stride;
  const std::int64_t groups = stash_groups(rows.count, block.warps);
  const float4* kept = stash_of(stash, coupling, groups, group);
  const int count = block.linear_count<S>(coupling);
  const int inputs = coupling.unchanged + flow.context;
  const int padded_inputs = (inputs + 15) / 16 * 16;
  const bool adds = tile > 0;
  const DeviceLinear& last = linears[count - 1];
  const int chunk_tiles = block.chunk_tiles<S>();
  const int out_stride = flow.chunk_width + 1;

  // What the hidden layer `which_hidden` got before its SiLU.
  const auto hidden_inputs = [&](int which_hidden, float(&z)[S::kTiles][4]) {
    const DeviceLinear& linear = linears[which_hidden];
    const int tiles = BlockFlow::hidden_tiles<S>(linear);
    if (which_hidden > 0) {
      fetch(kept + linear.stash * 32, z, tiles, lane);
      return;
    }
    stage_inputs<S>(block, coupling, rows, first_row, inputs, stage);
    multiply_inputs(stage, stride, block.weights + linear.at,
                    block.weights + linear.bias_at, linear, tiles, z, lane);
    __syncwarp();
  };

  float d[S::kTiles][4] = {};
  const int chunks = block.chunks<S>(coupling);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int columns = block.columns_in_chunk<S>(coupling, chunk);
    float v[S::kTiles][4];
    fetch(kept + (last.stash + chunk * (flow.chunk_width / 8)) * 32, v, chunk_tiles,
          lane);
    scatter(stage, out_stride, v, chunk_tiles, lane);
    __syncwarp();
    {
      const int row = first_row + row_lane.row;
      const bool counts = row < rows.count;
      const int* mapped = block.columns + coupling.column_begin + coupling.unchanged +
                          chunk * flow.columns_per_chunk;
      float* parameters = stage + row_lane.row * out_stride;
      for (int c = flow.is_spline ? 0 : row_lane.half; c < columns;
           c += flow.is_spline ? 1 : 2) {
        const int at = min(row, rows.count - 1) * flow.dimension + mapped[c];
        float* own = parameters + c * flow.parameters_per_column;
        const float x = rows.in[at];
        const float g = counts ? gradient.data[at] : 0.0f;
        if (flow.is_spline) {
          const float result = spline_backward<S::kBins>(
              x, own, flow.bins, flow.bound, counts, g, gradient.log_slope, row_lane);
          __syncwarp();
          if (counts && row_lane.half == 0) gradient.data[at] = result;
        } else {
          const float result = affine_backward(x, own, counts, g, gradient.log_slope);
          if (counts) gradient.data[at] = result;
        }
      }
    }
    __syncwarp();
    gather(stage, out_stride, v, chunk_tiles, lane);
    __syncwarp();
    scatter(stage_out, stride, v, chunk_tiles, lane);
    const float* weights = block.weights + last.at + chunk * flow.chunk_width;
    if (count > 1) {
      const int tiles = BlockFlow::hidden_tiles<S>(linears[count - 2]);
      multiply_transposed(v, chunk_tiles, weights, last.stride, tiles, d, lane);
      float z[S::kTiles][4];
      hidden_inputs(count - 2, z);
      activation_backward(z, tiles, stage, stride, d, chunk + 1 == chunks, lane);
    } else {
      stage_inputs<S>(block, coupling, rows, first_row, padded_inputs, stage);
      backward_to_inputs(block, coupling, last, weights, v, chunk_tiles, rows,
                         first_row, gradient, lane);
    }
    __syncthreads();
    weight_gradient<S, S::kChunkTiles / 2>(
        block, last, chunk_tiles, coupling.image + last.at + chunk * flow.chunk_width,
        coupling.image + last.bias_at + chunk * flow.chunk_width, count == 1, adds,
        gradient);
    __syncthreads();
  }

#pragma unroll(S::kLinears > 0 ? S::kLinears : 1)
  for (int i = count - 2; i >= 0; --i) {
    const DeviceLinear& linear = linears[i];
    const int tiles = BlockFlow::hidden_tiles<S>(linear);
    scatter(stage_out, stride, d, tiles, lane);
    if (i > 0) {
      const int before = BlockFlow::hidden_tiles<S>(linears[i - 1]);
      float previous[S::kTiles][4] = {};
      multiply_transposed(d, tiles, block.weights + linear.at,
                          S::kHiddenTiles > 0 ? S::kHiddenTiles * 8 + 8 : linear.stride,
                          before, previous, lane);
      float z[S::kTiles][4];
      hidden_inputs(i - 1, z);
      activation_backward(z, before, stage, stride, previous, true, lane);
#pragma unroll
      for (int j = 0; j < S::kTiles; ++j) {
#pragma unroll
        for (int k = 0; k < 4; ++k) d[j][k] = previous[j][k];
      }
    } else {
      stage_inputs<S>(block, coupling, rows, first_row, padded_inputs, stage);
      backward_to_inputs(block, coupling, linear, block.weights + linear.at, d, tiles,
                         rows, first_row, gradient, lane);
    }
    __syncthreads();
    if (i > 0) {
      weight_gradient<S, S::kHiddenTiles / 2>(
          block, linear, tiles, coupling.image + linear.at,
          coupling.image + linear.bias_at, false, adds, gradient);
    } else {
      weight_gradient<S, (S::kHiddenTiles > 0 ? 1 : 0)>(
          block, linear, tiles, coupling.image + linear.at,
          coupling.image + linear.bias_at, true, adds, gradient);
    }
    __syncthreads();
  }
}

/// All rows of a batch through one coupling layer, on the way to the latents, keeping
/// what the way back needs. All threads must call it; weights are loaded already.
template <typename S>
__device__ __forceinline__ void forward_layer(const BlockFlow& block, int which,
                                              const BlockRows& rows, bool adds,
                                              float4* stash) {
  const std::int64_t groups = stash_groups(rows.count, block.warps);
  for (int group = block.warp; group < groups; group += block.warps) {
    map_rows<S, false>(block, which, rows, group * kWarpRows, adds,
                       stash_of(stash, block.couplings[which], groups, group));
  }
}

/// All rows of a batch back through one coupling layer; as backward_tile().
template <typename S>
__device__ __forceinline__ void backward_layer(const BlockFlow& block, int which,
                                               const BlockRows& rows, float4* stash,
                                               BlockGradient& gradient) {
  normalize_backward(block, block.couplings[which], rows.out, rows.count, gradient);
  const int tiles =
      static_cast<int>(stash_groups(rows.count, block.warps)) / block.warps;
  for (int tile = 0; tile < tiles; ++tile)
    backward_tile<S>(block, which, rows, tile, stash, gradient);
}

}  // namespace kinflow
