// Kernels of FusedFlowCuda.
#pragma once

#include "kinflow/flow/cuda/fused_backward.cuh"
#include "kinflow/flow/cuda/fused_launches.h"

namespace kinflow {

constexpr float kHalfLogTwoPi = 0.918938533204673f;

template <typename S, bool kInverse>
__global__ void __launch_bounds__(kForwardWarps * 32, S::kBlocks)
    map_kernel(DeviceFlow flow, MapArguments a) {
  extern __shared__ float4 shared[];
  const BlockFlow block(flow, reinterpret_cast<float*>(shared));
  const std::int64_t replica = blockIdx.x / a.chunks;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x % a.chunks) * a.chunk_rows;
  const int count =
      static_cast<int>(min(static_cast<std::int64_t>(a.chunk_rows), a.count - first));
  const int p = flow.dimension;
  // Staging rows for right factors are not needed here; the data take their place.
  float* data = block.stage_out;
  float* log_slopes = data + a.chunk_rows * p;
  const float* values = a.values + replica * flow.parameters;
  const float* in = a.in + replica * a.in_replica + first * p;
  for (int i = threadIdx.x; i < count * p; i += blockDim.x) data[i] = in[i];
  const BlockRows rows{.count = count,
                       .in = data,
                       .out = data,
                       .log_slopes = kInverse ? nullptr : log_slopes,
                       .context = a.context + (a.context ? first * flow.context : 0),
                       .index = nullptr,
                       .context_begin = 0};
  for (int i = 0; i < flow.couplings; ++i) {
    const int which = kInverse ? flow.couplings - 1 - i : i;
    __syncthreads();
    load_values(block, which, values);
    __syncthreads();
    for (int group = block.warp; group * kWarpRows < count; group += block.warps) {
      map_rows<S, kInverse>(block, which, rows, group * kWarpRows, i > 0, nullptr);
    }
  }
  __syncthreads();
  if (a.out != nullptr) {
    float* out = a.out + (replica * a.count + first) * p;
    for (int i = threadIdx.x; i < count * p; i += blockDim.x) out[i] = data[i];
  }
  if (kInverse) return;
  const std::int64_t to = replica * a.count + first;
  for (int row = threadIdx.x; row < count; row += blockDim.x) {
    if (a.log_abs_det != nullptr) a.log_abs_det[to + row] = log_slopes[row];
    if (a.density != nullptr) {
      float square = 0;
      for (int c = 0; c < p; ++c) square += data[row * p + c] * data[row * p + c];
      a.density[to + row] =
          log_slopes[row] - 0.5f * square - kHalfLogTwoPi * static_cast<float>(p);
    }
  }
}

/// The rows of a batch before and after a layer.
__device__ __forceinline__ BlockRows batch_rows(const DeviceFlow& flow,
                                                const BatchArguments& a, int layer) {
  const std::int64_t numbers = static_cast<std::int64_t>(a.count) * flow.dimension;
  float* in = a.layers + (blockIdx.x * (flow.couplings + 1) + layer) * numbers;
  return {.count = a.count,
          .in = in,
          .out = in + numbers,
          .log_slopes = a.log_abs_det + static_cast<std::int64_t>(blockIdx.x) * a.count,
          .context = a.context,
          .index = a.index,
          .context_begin = 0};
}

template <typename S>
__global__ void __launch_bounds__(256, S::kBlocks)
    batch_kernel(DeviceFlow flow, BatchArguments a) {
  extern __shared__ float4 shared[];
  const BlockFlow block(flow, reinterpret_cast<float*>(shared));
  const std::int64_t replica = blockIdx.x;
  const int p = flow.dimension;
  const float* values = a.values + replica * flow.parameters;
  float* first = const_cast<float*>(batch_rows(flow, a, 0).in);
  for (int i = threadIdx.x; i < a.count * p; i += blockDim.x)
    first[i] = a.data[a.index[i / p] * p + i % p];
  for (int which = 0; which < flow.couplings; ++which) {
    __syncthreads();
    load_values(block, which, values);
    __syncthreads();
    forward_layer<S>(block, which, batch_rows(flow, a, which), which > 0,
                     a.stash + replica * a.stash_replica);
  }
  __syncthreads();
  const float* latents = batch_rows(flow, a, flow.couplings).in;
  for (int i = threadIdx.x; i < a.count * p; i += blockDim.x)
    a.latents[replica * a.count * p + i] = latents[i];
}

template <typename S>
__global__ void __launch_bounds__(256, S::kBlocks)
    backward_kernel(DeviceFlow flow, BatchArguments a) {
  extern __shared__ float4 shared[];
  const BlockFlow block(flow, reinterpret_cast<float*>(shared));
  const std::int64_t replica = blockIdx.x;
  const float* values = a.values + replica * flow.parameters;
  BlockGradient gradient{.data = a.grad_latents + replica * a.count * flow.dimension,
                         .image = a.image + replica * flow.image_floats,
                         .log_slope = a.grad_log_abs_det,
                         .unsound = 0};
  for (int which = flow.couplings - 1; which >= 0; --which) {
    load_values(block, which, values);
    __syncthreads();
    backward_layer<S>(block, which, batch_rows(flow, a, which),
                      a.stash + replica * a.stash_replica, gradient);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < flow.parameters; i += blockDim.x)
    a.gradient[replica * flow.parameters + i] = gradient.image[flow.places[i]];
}

template <typename S>
void FusedLaunches<S>::to_latent(const LaunchPlace& place, const DeviceFlow& flow,
                                 const MapArguments& arguments) {
  launch(map_kernel<S, false>, place.blocks, place.threads, place.shared_bytes,
         place.stream, flow, arguments);
}

template <typename S>
void FusedLaunches<S>::from_latent(const LaunchPlace& place, const DeviceFlow& flow,
                                   const MapArguments& arguments) {
  launch(map_kernel<S, true>, place.blocks, place.threads, place.shared_bytes,
         place.stream, flow, arguments);
}

template <typename S>
void FusedLaunches<S>::batch_to_latent(const LaunchPlace& place, const DeviceFlow& flow,
                                       const BatchArguments& arguments) {
  launch(batch_kernel<S>, place.blocks, place.threads, place.shared_bytes, place.stream,
         flow, arguments);
}

template <typename S>
void FusedLaunches<S>::backward(const LaunchPlace& place, const DeviceFlow& flow,
                                const BatchArguments& arguments) {
  launch(backward_kernel<S>, place.blocks, place.threads, place.shared_bytes,
         place.stream, flow, arguments);
}

}  // namespace kinflow
