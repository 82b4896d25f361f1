// Coupling layers of one replica inside one thread block: a layer's weights are in
// shared memory, activations of 16 rows in the registers of a warp.
#pragma once

#include "kinflow/flow/cuda/device_flow.h"
#include "kinflow/flow/cuda/element_maps.cuh"
#include "kinflow/flow/cuda/fused_shapes.h"
#include "kinflow/flow/cuda/tensor_products.cuh"

namespace kinflow {

/// The block's view of the flow: tables, weights and staging rows in shared memory.
struct BlockFlow {
  DeviceFlow flow;
  const DeviceCoupling* couplings;
  const DeviceLinear* linears;
  const int* columns;
  float* weights;
  float* stage;      ///< [16 warps, stage_stride]: left factors of weight gradients
  float* stage_out;  ///< the same for right factors; only where gradients are taken
  int warp, warps;

  /// @param memory  the block's shared memory; the table is copied into it
  __device__ BlockFlow(const DeviceFlow& from, float* memory) : flow(from) {
    int* table = reinterpret_cast<int*>(memory);
    for (int i = threadIdx.x; i < flow.table_ints(); i += blockDim.x)
      table[i] = flow.table[i];
    couplings = reinterpret_cast<const DeviceCoupling*>(table);
    linears = reinterpret_cast<const DeviceLinear*>(couplings + flow.couplings);
    columns = reinterpret_cast<const int*>(linears + flow.linears);
    warp = static_cast<int>(threadIdx.x) / 32;
    warps = static_cast<int>(blockDim.x) / 32;
    weights = memory + flow.table_floats();
    stage = weights + flow.weight_floats;
    stage_out = stage + warps * kWarpRows * flow.stage_stride;
    __syncthreads();
  }

  template <typename S>
  __device__ int stage_stride() const {
    return S::kStageStride > 0 ? S::kStageStride : flow.stage_stride;
  }
  template <typename S>
  __device__ int chunk_tiles() const {
    return S::kChunkTiles > 0 ? S::kChunkTiles : flow.chunk_width / 8;
  }
  template <typename S>
  __device__ static int hidden_tiles(const DeviceLinear& linear) {
    return S::kHiddenTiles > 0 ? S::kHiddenTiles : linear.columns / 8;
  }
  template <typename S>
  __device__ static int linear_count(const DeviceCoupling& coupling) {
    return S::kLinears > 0 ? S::kLinears : coupling.linear_count;
  }
  /// Mapped columns in a chunk.
  template <typename S>
  __device__ int columns_in_chunk(const DeviceCoupling& coupling, int chunk) const {
    if (S::kLinears > 0) return 1;
    return min(flow.columns_per_chunk,
               coupling.mapped - chunk * flow.columns_per_chunk);
  }
  template <typename S>
  __device__ int chunks(const DeviceCoupling& coupling) const {
    if (S::kLinears > 0) return 1;
    return (coupling.mapped + flow.columns_per_chunk - 1) / flow.columns_per_chunk;
  }
};

/// The rows that a block maps, and where the layers' results are kept.
struct BlockRows {
  int count;
  const float* in;    ///< [count, p]
  float* out;         ///< [count, p], may be `in`
  float* log_slopes;  ///< [count], or null
  const float* context;
  const std::int64_t* index;  ///< of the context's rows; null: 0, 1, ..
  int context_begin;          ///< added to the place of a row without index

  __device__ const float* context_of(int row, int columns) const {
    return context + (index != nullptr ? index[row] : context_begin + row) * columns;
  }
};

/// Copies 4 or 16 bytes to shared memory in the background.
__device__ __forceinline__ void copy_word_async(float* to, const float* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from)
               : "memory");
}
__device__ __forceinline__ void copy_four_words_async(float* to, const float* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from)
               : "memory");
}

__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Copies a coupling layer's part of an image into shared memory. Threads must meet
/// before (the old weights are no longer used) and after.
/// @param image  of the replica
__device__ __forceinline__ void load_image(const BlockFlow& block, int which,
                                           const float* image) {
  const float* from = image + block.couplings[which].image;
  const int count = block.couplings[which].image_floats;
  for (int i = 4 * static_cast<int>(threadIdx.x); i < count; i += 4 * blockDim.x)
    copy_four_words_async(block.weights + i, from + i);
  wait_for_copies();
}

/// The same from the replica's values.
__device__ __forceinline__ void load_values(const BlockFlow& block, int which,
                                            const float* values) {
  const DeviceCoupling coupling = block.couplings[which];
  for (int i = threadIdx.x; i < coupling.image_floats; i += blockDim.x)
    block.weights[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < coupling.value_count; i += blockDim.x) {
    copy_word_async(
        block.weights + block.flow.places[coupling.values + i] - coupling.image,
        values + coupling.values + i);
  }
  wait_for_copies();
}

/// Writes the conditioner's inputs of 16 rows to the warp's staging rows, with zeros up
/// to `padded` columns.
template <typename S>
__device__ __forceinline__ void stage_inputs(const BlockFlow& block,
                                             const DeviceCoupling& coupling,
                                             const BlockRows& rows, int first_row,
                                             int padded, float* stage) {
  const RowLane lane;
  const DeviceFlow& flow = block.flow;
  const int row = min(first_row + lane.row, rows.count - 1);
  const int stride = block.stage_stride<S>();
  for (int i = lane.half; i < padded; i += 2) {
    float value = 0;
    if (i < coupling.unchanged) {
      value = rows.in[row * flow.dimension + block.columns[coupling.column_begin + i]];
      if (flow.is_spline) value = fminf(fmaxf(value, -flow.bound), flow.bound);
    } else if (i < coupling.unchanged + flow.context) {
      value = rows.context_of(row, flow.context)[i - coupling.unchanged];
    }
    stage[lane.row * stride + i] = value;
  }
  __syncwarp();
}

/// a = the staged inputs times the first layer's weights, plus its bias.
template <int N>
__device__ __forceinline__ void multiply_inputs(const float* stage, int stride,
                                                const float* weights, const float* bias,
                                                const DeviceLinear& linear, int tiles,
                                                float (&a)[N][4], const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      const auto b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * lane.t);
      a[j][0] = a[j][2] = b.x;
      a[j][1] = a[j][3] = b.y;
    }
  }
  for (int i = 0; i < linear.inputs; ++i) {
    const float x0 = stage[lane.g * stride + i], x1 = stage[(lane.g + 8) * stride + i];
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (j < tiles) {
        const auto w = *reinterpret_cast<const float2*>(weights + i * linear.stride +
                                                        8 * j + 2 * lane.t);
        a[j][0] = fmaf(x0, w.x, a[j][0]);
        a[j][1] = fmaf(x0, w.y, a[j][1]);
        a[j][2] = fmaf(x1, w.x, a[j][2]);
        a[j][3] = fmaf(x1, w.y, a[j][3]);
      }
    }
  }
}

template <int N>
__device__ __forceinline__ void set_to_bias(float (&c)[N][4], int tiles,
                                            const float* bias, const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      const auto b = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * lane.t);
      c[j][0] = c[j][2] = b.x;
      c[j][1] = c[j][3] = b.y;
    }
  }
}

template <int N>
__device__ __forceinline__ void keep(float4* stash, const float (&c)[N][4], int tiles,
                                     const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      __stcs(stash + j * 32 + lane.index,
             make_float4(c[j][0], c[j][1], c[j][2], c[j][3]));
    }
  }
}

template <int N>
__device__ __forceinline__ void fetch(const float4* stash, float (&c)[N][4], int tiles,
                                      const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      const float4 kept = __ldcs(stash + j * 32 + lane.index);
      c[j][0] = kept.x;
      c[j][1] = kept.y;
      c[j][2] = kept.z;
      c[j][3] = kept.w;
    }
  }
}

/// Tiles to rows of shared memory; `stride` may be odd.
template <int N>
__device__ __forceinline__ void scatter(float* to, int stride, const float (&c)[N][4],
                                        int tiles, const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      float* p = to + lane.g * stride + 8 * j + 2 * lane.t;
      p[0] = c[j][0];
      p[1] = c[j][1];
      p[8 * stride] = c[j][2];
      p[8 * stride + 1] = c[j][3];
    }
  }
}

template <int N>
__device__ __forceinline__ void gather(const float* from, int stride, float (&c)[N][4],
                                       int tiles, const Lane& lane) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
      const float* p = from + lane.g * stride + 8 * j + 2 * lane.t;
      c[j][0] = p[0];
      c[j][1] = p[1];
      c[j][2] = p[8 * stride];
      c[j][3] = p[8 * stride + 1];
    }
  }
}

template <int N>
__device__ __forceinline__ void activate(float (&a)[N][4], int tiles) {
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j < tiles) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[j][i] *= sigmoid(a[j][i]);
    }
  }
}

/// Applies (or undoes) ActNorm to 16 rows in place.
template <bool kInverse>
__device__ __forceinline__ void normalize_rows(const BlockFlow& block,
                                               const DeviceCoupling& coupling,
                                               float* data, int first_row, int count) {
  const RowLane lane;
  const int row = first_row + lane.row;
  if (coupling.log_scale >= 0 && row < count) {
    for (int c = lane.half; c < block.flow.dimension; c += 2) {
      float& x = data[row * block.flow.dimension + c];
      const float log_scale = block.weights[coupling.log_scale + c];
      const float shift = block.weights[coupling.shift + c];
      x = kInverse ? (x - shift) * expf(-log_scale) : x * expf(log_scale) + shift;
    }
  }
  __syncwarp();
}

/// Maps 16 rows by one coupling layer, to latents or back. The warp works alone.
/// @param stash   of this coupling and these rows, where results are kept; or null
template <typename S, bool kInverse>
__device__ __forceinline__ void map_rows(const BlockFlow& block, int which,
                                         const BlockRows& rows, int first_row,
                                         bool adds, float4* stash) {
  const DeviceFlow& flow = block.flow;
  const DeviceCoupling coupling = block.couplings[which];
  const DeviceLinear* linears = block.linears + coupling.linear_begin;
  const Lane lane;
  const RowLane row_lane;
  const int stride = block.stage_stride<S>();
  float* stage = block.stage + block.warp * kWarpRows * stride;
  const int count = block.linear_count<S>(coupling);
  const int inputs = coupling.unchanged + flow.context;
  if (kInverse) {
    normalize_rows<true>(block, coupling, rows.out, first_row, rows.count);
  }

  float a[S::kTiles][4];
  if (count > 1) {
    stage_inputs<S>(block, coupling, rows, first_row, inputs, stage);
    int tiles = BlockFlow::hidden_tiles<S>(linears[0]);
    multiply_inputs(stage, stride, block.weights + linears[0].at,
                    block.weights + linears[0].bias_at, linears[0], tiles, a, lane);
    activate(a, tiles);
#pragma unroll(S::kLinears > 0 ? S::kLinears : 1)
    for (int i = 1; i + 1 < count; ++i) {
      const int next = BlockFlow::hidden_tiles<S>(linears[i]);
      float c[S::kTiles][4];
      set_to_bias(c, next, block.weights + linears[i].bias_at, lane);
      multiply(a, tiles, block.weights + linears[i].at,
               S::kHiddenTiles > 0 ? S::kHiddenTiles * 8 + 8 : linears[i].stride, next,
               c, lane);
      if (stash != nullptr) keep(stash + linears[i].stash * 32, c, next, lane);
      activate(c, next);
#pragma unroll
      for (int j = 0; j < S::kTiles; ++j) {
#pragma unroll
        for (int k = 0; k < 4; ++k) a[j][k] = c[j][k];
      }
      tiles = next;
    }
  }

  const int row = first_row + row_lane.row;
  const bool counts = row < rows.count;
  const DeviceLinear& last = linears[count - 1];
  const int chunk_tiles = block.chunk_tiles<S>();
  // An odd stride: lanes that walk along rows do not meet in a bank.
  const int out_stride = flow.chunk_width + 1;
  float log_slope = 0;
  for (int chunk = 0; chunk < block.chunks<S>(coupling); ++chunk) {
    float v[S::kTiles][4];
    const float* bias = block.weights + last.bias_at + chunk * flow.chunk_width;
    const float* weights = block.weights + last.at + chunk * flow.chunk_width;
    if (count > 1) {
      set_to_bias(v, chunk_tiles, bias, lane);
      multiply(a, BlockFlow::hidden_tiles<S>(linears[count - 2]), weights, last.stride,
               chunk_tiles, v, lane);
    } else {
      stage_inputs<S>(block, coupling, rows, first_row, inputs, stage);
      multiply_inputs(stage, stride, weights, bias, last, chunk_tiles, v, lane);
    }
    if (stash != nullptr) {
      keep(stash + (last.stash + chunk * (flow.chunk_width / 8)) * 32, v, chunk_tiles,
           lane);
    }
    __syncwarp();
    scatter(stage, out_stride, v, chunk_tiles, lane);
    __syncwarp();
    const int columns = block.columns_in_chunk<S>(coupling, chunk);
    const int* mapped = block.columns + coupling.column_begin + coupling.unchanged +
                        chunk * flow.columns_per_chunk;
    float* parameters = stage + row_lane.row * out_stride;
    for (int c = flow.is_spline ? 0 : row_lane.half; c < columns;
         c += flow.is_spline ? 1 : 2) {
      const int at = min(row, rows.count - 1) * flow.dimension + mapped[c];
      float* own = parameters + c * flow.parameters_per_column;
      const float x = rows.in[at];
      MapResult result;
      if (flow.is_spline) {
        result =
            kInverse
                ? spline_inverse<S::kBins>(x, own, flow.bins, flow.bound, row_lane)
                : spline_forward<S::kBins>(x, own, flow.bins, flow.bound, row_lane);
        // Both lanes of the row have read x.
        __syncwarp();
        if (counts && row_lane.half == 0) rows.out[at] = result.value;
        log_slope += row_lane.half == 0 ? result.log_slope : 0.0f;
      } else {
        result = kInverse ? affine_inverse(x, own) : affine_forward(x, own);
        if (counts) rows.out[at] = result.value;
        log_slope += result.log_slope;
      }
    }
    __syncwarp();
  }
  if (rows.out != rows.in && counts) {
    for (int i = row_lane.half; i < coupling.unchanged; i += 2) {
      const int at = row * flow.dimension + block.columns[coupling.column_begin + i];
      rows.out[at] = rows.in[at];
    }
  }
  __syncwarp();
  if (!kInverse) {
    normalize_rows<false>(block, coupling, rows.out, first_row, rows.count);
  }
  if (rows.log_slopes != nullptr) {
    log_slope += __shfl_xor_sync(kAllLanes, log_slope, 16);
    if (coupling.log_scale >= 0) {
      for (int c = 0; c < flow.dimension; ++c)
        log_slope += (kInverse ? -1.0f : 1.0f) * block.weights[coupling.log_scale + c];
    }
    if (counts && row_lane.half == 0) {
      rows.log_slopes[row] = (adds ? rows.log_slopes[row] : 0.0f) + log_slope;
    }
  }
  __syncwarp();
}

/// The kept results of a coupling layer and a group of rows.
__device__ inline float4* stash_of(float4* stash, const DeviceCoupling& coupling,
                                   std::int64_t groups, int group) {
  return stash + (coupling.stash_begin * groups +
                  static_cast<std::int64_t>(group) * coupling.stash_items) *
                     32;
}

}  // namespace kinflow
