// Kernels of FusedFlowCuda and their launches.
#include "kinflow/flow/fused_cuda.h"

#include <algorithm>
#include <cmath>

#include "kinflow/flow/fused_backward.cuh"
#include "kinflow/flow/fused_launch.h"

namespace kinflow {
namespace {

constexpr float kHalfLogTwoPi = 0.918938533204673f;
constexpr std::int64_t kMostChunkRows = 1024;

/// Rows of one launch; a block takes one chunk of one replica.
struct MapArguments {
  const float* in;
  std::int64_t in_replica;  ///< numbers between two replicas' rows; 0: shared
  const float* context;
  const float* values;
  float* out;
  float* log_abs_det;
  float* density;
  std::int64_t count;
  int chunk_rows, chunks;
};

template <typename S, bool kInverse>
__global__ void __launch_bounds__(kForwardWarps * 32, S::kBlocks)
    map_kernel(DeviceFlow flow, MapArguments a) {
  extern __shared__ float4 shared[];
  const BlockFlow block(flow, reinterpret_cast<float*>(shared));
  const std::int64_t replica = blockIdx.x / a.chunks;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x % a.chunks) * a.chunk_rows;
  const int count = static_cast<int>(
      min(static_cast<std::int64_t>(a.chunk_rows), a.count - first));
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
      map_rows<S, kInverse>(block, which, rows, group * kWarpRows, i > 0,
                            nullptr);
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

/// A batch of one launch; a block takes one replica.
struct BatchArguments {
  const float* data;
  const float* context;
  const std::int64_t* index;
  const float* values;
  float* layers;  ///< [R, couplings + 1, b, p]: inputs of every layer, latents last
  float4* stash;  ///< [R, ..]
  std::int64_t stash_replica;
  float* image;  ///< [R, ..], of gradients
  float* latents;
  float* log_abs_det;
  float* grad_latents;
  float grad_log_abs_det;
  float* gradient;
  int count;

  __device__ BlockRows rows_of(const DeviceFlow& flow, int layer) const {
    const std::int64_t numbers = static_cast<std::int64_t>(count) * flow.dimension;
    float* in = layers + (blockIdx.x * (flow.couplings + 1) + layer) * numbers;
    return {.count = count,
            .in = in,
            .out = in + numbers,
            .log_slopes = log_abs_det + static_cast<std::int64_t>(blockIdx.x) * count,
            .context = context,
            .index = index,
            .context_begin = 0};
  }
};

template <typename S>
__global__ void __launch_bounds__(256, S::kBlocks)
    batch_kernel(DeviceFlow flow, BatchArguments a) {
  extern __shared__ float4 shared[];
  const BlockFlow block(flow, reinterpret_cast<float*>(shared));
  const std::int64_t replica = blockIdx.x;
  const int p = flow.dimension;
  const float* values = a.values + replica * flow.parameters;
  float* first = const_cast<float*>(a.rows_of(flow, 0).in);
  for (int i = threadIdx.x; i < a.count * p; i += blockDim.x)
    first[i] = a.data[a.index[i / p] * p + i % p];
  for (int which = 0; which < flow.couplings; ++which) {
    __syncthreads();
    load_values(block, which, values);
    __syncthreads();
    forward_layer<S>(block, which, a.rows_of(flow, which), which > 0,
                     a.stash + replica * a.stash_replica);
  }
  __syncthreads();
  const float* latents = a.rows_of(flow, flow.couplings).in;
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
  BlockGradient gradient{
      .data = a.grad_latents + replica * a.count * flow.dimension,
      .image = a.image + replica * flow.image_floats,
      .log_slope = a.grad_log_abs_det,
      .unsound = 0};
  for (int which = flow.couplings - 1; which >= 0; --which) {
    load_values(block, which, values);
    __syncthreads();
    backward_layer<S>(block, which, a.rows_of(flow, which),
                      a.stash + replica * a.stash_replica, gradient);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < flow.parameters; i += blockDim.x)
    a.gradient[replica * flow.parameters + i] = gradient.image[flow.places[i]];
}

constexpr int kMeanThreads = 256;

__global__ void mean_kernel(const float* numbers, std::int64_t count, double* means) {
  __shared__ double sums[kMeanThreads];
  const float* of_replica = numbers + blockIdx.x * count;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kMeanThreads) sum += of_replica[i];
  sums[threadIdx.x] = sum;
  for (int half = kMeanThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) means[blockIdx.x] = sums[0] / static_cast<double>(count);
}

int multiprocessors() {
  int device = 0, count = 0;
  check_cuda(cudaGetDevice(&device), "looking for a device");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
             "asking for the number of multiprocessors");
  return count;
}

}  // namespace

struct FusedFlowCuda::State {
  explicit State(const FlowPlan& plan)
      : on_device(plan), multiprocessor_count(multiprocessors()) {}
  FlowOnDevice on_device;
  int multiprocessor_count;

  const DeviceFlow& flow() const { return on_device.flow(); }
  std::int64_t layer_floats(std::int64_t count, std::int64_t replicas) const {
    const std::int64_t floats =
        replicas * (flow().couplings + 1) * count * flow().dimension;
    return (floats + 3) / 4 * 4;
  }
  std::int64_t stash_items(std::int64_t count) const {
    return stash_groups(count, on_device.needs().warps) * flow().stash_items * 32;
  }

  template <bool kInverse>
  void map(MapArguments arguments, std::int64_t replicas, void* stream) const {
    if (arguments.count == 0 || replicas == 0) return;
    const auto& needs = on_device.needs();
    constexpr std::int64_t kTileRows = kForwardWarps * kWarpRows;
    // Rows for which the weights are loaded once: many, but enough blocks for all
    // multiprocessors.
    const std::int64_t row_bytes =
        (flow().dimension + 1) * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t room =
        (kMostBlockBytes - static_cast<std::int64_t>(needs.forward_bytes)) / row_bytes;
    std::int64_t rows = std::min(kMostChunkRows, room / kTileRows * kTileRows);
    const std::int64_t enough = 4LL * multiprocessor_count;
    while (rows > kTileRows && replicas * ((arguments.count + rows - 1) / rows) < enough)
      rows -= kTileRows;
    arguments.chunk_rows = static_cast<int>(rows);
    arguments.chunks = static_cast<int>((arguments.count + rows - 1) / rows);
    const std::size_t bytes =
        needs.forward_bytes + static_cast<std::size_t>(rows * row_bytes);
    with_shape(needs.shape, [&]<typename S>() {
      launch(map_kernel<S, kInverse>, replicas * arguments.chunks, kForwardWarps * 32,
             bytes, stream, flow(), arguments);
    });
  }

  BatchArguments batch_arguments(const Batch& batch, std::int64_t replicas,
                                 const float* values, const void* workspace) const {
    auto* layers = static_cast<float*>(const_cast<void*>(workspace));
    BatchArguments arguments{};
    arguments.data = batch.rows.data;
    arguments.context = batch.rows.context;
    arguments.index = batch.index;
    arguments.values = values;
    arguments.layers = layers;
    arguments.stash =
        reinterpret_cast<float4*>(layers + layer_floats(batch.count, replicas));
    arguments.stash_replica = stash_items(batch.count);
    arguments.image =
        reinterpret_cast<float*>(arguments.stash + replicas * arguments.stash_replica);
    arguments.count = static_cast<int>(batch.count);
    return arguments;
  }
};

bool FusedFlowCuda::fits(const FlowPlan& plan) {
  return FlowOnDevice::needs(plan).shape != FusedShape::none;
}

FusedFlowCuda::FusedFlowCuda(const FlowPlan& plan)
    : state_(std::make_unique<State>(plan)) {}

FusedFlowCuda::~FusedFlowCuda() = default;

void FusedFlowCuda::to_latent(const Rows& rows, std::int64_t replicas,
                              const float* values, float* latents, float* log_abs_det,
                              void* stream) const {
  state_->map<false>({.in = rows.data,
                      .context = rows.context,
                      .values = values,
                      .out = latents,
                      .log_abs_det = log_abs_det,
                      .count = rows.count},
                     replicas, stream);
}

void FusedFlowCuda::log_density(const Rows& rows, std::int64_t replicas,
                                const float* values, float* density,
                                void* stream) const {
  state_->map<false>({.in = rows.data,
                      .context = rows.context,
                      .values = values,
                      .density = density,
                      .count = rows.count},
                     replicas, stream);
}

void FusedFlowCuda::from_latent(std::int64_t count, const float* latents,
                                const float* context, std::int64_t replicas,
                                const float* values, float* data, void* stream) const {
  state_->map<true>({.in = latents,
                     .in_replica = count * state_->flow().dimension,
                     .context = context,
                     .values = values,
                     .out = data,
                     .count = count},
                    replicas, stream);
}

std::size_t FusedFlowCuda::workspace_bytes(std::int64_t count,
                                           std::int64_t replicas) const {
  return static_cast<std::size_t>(state_->layer_floats(count, replicas)) *
             sizeof(float) +
         static_cast<std::size_t>(replicas * state_->stash_items(count)) *
             sizeof(float4) +
         static_cast<std::size_t>(replicas * state_->flow().image_floats) *
             sizeof(float);
}

void FusedFlowCuda::to_latent(const Batch& batch, std::int64_t replicas,
                              const float* values, float* latents, float* log_abs_det,
                              void* workspace, void* stream) const {
  if (batch.count == 0 || replicas == 0) return;
  auto arguments = state_->batch_arguments(batch, replicas, values, workspace);
  arguments.latents = latents;
  arguments.log_abs_det = log_abs_det;
  const auto& needs = state_->on_device.needs();
  with_shape(needs.shape, [&]<typename S>() {
    launch(batch_kernel<S>, replicas, needs.warps * 32, needs.train_bytes, stream,
           state_->flow(), arguments);
  });
}

void FusedFlowCuda::backward(const Batch& batch, std::int64_t replicas,
                             const float* values, float* grad_latents,
                             float grad_log_abs_det, const void* workspace,
                             float* gradient, void* stream) const {
  if (batch.count == 0 || replicas == 0) return;
  auto arguments = state_->batch_arguments(batch, replicas, values, workspace);
  arguments.grad_latents = grad_latents;
  arguments.grad_log_abs_det = grad_log_abs_det;
  arguments.gradient = gradient;
  const auto& needs = state_->on_device.needs();
  with_shape(needs.shape, [&]<typename S>() {
    launch(backward_kernel<S>, replicas, needs.warps * 32, needs.train_bytes, stream,
           state_->flow(), arguments);
  });
}

void mean_of_rows(const float* numbers, std::int64_t replicas, std::int64_t count,
                  double* means, void* stream) {
  if (replicas == 0) return;
  launch(mean_kernel, replicas, kMeanThreads, 0, stream, numbers, count, means);
}

}  // namespace kinflow
