// Launches of FusedFlowCuda.
#include <algorithm>

#include "kinflow/flow/cuda/fused_cuda.h"
#include "kinflow/flow/cuda/fused_launches.h"
#include "kinflow/flow/cuda/fused_shapes.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMostChunkRows = 1024;

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
    while (rows > kTileRows &&
           replicas * ((arguments.count + rows - 1) / rows) < enough)
      rows -= kTileRows;
    arguments.chunk_rows = static_cast<int>(rows);
    arguments.chunks = static_cast<int>((arguments.count + rows - 1) / rows);
    const std::size_t bytes =
        needs.forward_bytes + static_cast<std::size_t>(rows * row_bytes);
    const LaunchPlace place{replicas * arguments.chunks, kForwardWarps * 32, bytes,
                            stream};
    with_shape(needs.shape, [&]<typename S>() {
      if (kInverse) {
        FusedLaunches<S>::from_latent(place, flow(), arguments);
      } else {
        FusedLaunches<S>::to_latent(place, flow(), arguments);
      }
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

FusedFlowCuda::~FusedFlowCuda() { wait_for_device(); }

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
    FusedLaunches<S>::batch_to_latent(
        {replicas, needs.warps * 32, needs.train_bytes, stream}, state_->flow(),
        arguments);
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
    FusedLaunches<S>::backward({replicas, needs.warps * 32, needs.train_bytes, stream},
                               state_->flow(), arguments);
  });
}

void mean_of_rows(const float* numbers, std::int64_t replicas, std::int64_t count,
                  double* means, void* stream) {
  if (replicas == 0) return;
  launch(mean_kernel, replicas, kMeanThreads, 0, stream, numbers, count, means);
}

bool cuda_kernels_run() {
  int device = 0, major = 0;
  check_cuda(cudaGetDevice(&device), "asking for the GPU in use");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "asking for the GPU's kind");
  return major >= 9;
}

double free_cuda_bytes() {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory");
  return static_cast<double>(free);
}

std::string cuda_device_name() {
  int device = 0;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDevice(&device), "asking for the device");
  check_cuda(cudaGetDeviceProperties(&properties, device), "asking for its properties");
  return properties.name;
}

}  // namespace kinflow
