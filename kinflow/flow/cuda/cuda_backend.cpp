// Arrays handed to the fused CUDA kernels, on the thread's current stream.
#include "kinflow/flow/cuda/cuda_backend.h"

#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/flow/cuda/fused_cuda.h"
#include "kinflow/flow/glow/glow_kernels.h"

namespace kinflow {
namespace {

// That of the calling thread, so that several can train at once.
void* current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

// Architectures whose kernels are kept ready.
constexpr std::size_t kMostKept = 64;

// Nothing where no kernel takes the flow. Kept for the next call: making them takes
// device memory, and freeing that waits for the device.
std::shared_ptr<const FusedFlowCuda> kernels_for(const Flow& flow) {
  const auto& options = flow.options();
  const auto plan = make_plan(options);
  if (flow.values().scalar_type() != nd::kFloat || !FusedFlowCuda::fits(plan) ||
      !cuda_kernels_run()) {
    return nullptr;
  }
  static std::mutex mutex;
  // Never destroyed: the CUDA runtime may end before static objects do.
  static auto& kept = *new std::map<std::string, std::shared_ptr<const FusedFlowCuda>>;
  const auto key =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", static_cast<int>(options.kind),
                  options.dimension, options.context, options.layers,
                  fmt::join(options.hidden, "-"), options.bins, options.bound,
                  static_cast<int>(options.permutation), options.permutation_seed,
                  options.latent_map);
  const std::lock_guard lock(mutex);
  if (kept.size() >= kMostKept && kept.count(key) == 0) kept.clear();
  auto& kernels = kept[key];
  if (!kernels) kernels = std::make_shared<const FusedFlowCuda>(plan);
  return kernels;
}

FusedFlowCuda::Rows rows_of(const Array& data, const Array& context) {
  return {.count = data.size(0),
          .data = data.data_ptr<float>(),
          .context = context.defined() ? context.data_ptr<float>() : nullptr};
}

Array contiguous(const Array& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

}  // namespace

std::optional<LatentResult> latents_by_cuda(const Flow& flow, const Array& data,
                                            const Array& context) {
  const auto kernels = kernels_for(flow);
  if (!kernels) return {};
  const auto rows = data.contiguous(), steering = contiguous(context);
  LatentResult result{
      .latents =
          nd::empty({flow.replicas(), rows.size(0), rows.size(1)}, rows.options()),
      .log_abs_det = nd::empty({flow.replicas(), rows.size(0)}, rows.options())};
  kernels->to_latent(rows_of(rows, steering), flow.replicas(),
                     flow.values().data_ptr<float>(), result.latents.data_ptr<float>(),
                     result.log_abs_det.data_ptr<float>(), current_stream());
  return result;
}

std::optional<Array> row_log_density_by_cuda(const Flow& flow, const Array& data,
                                             const Array& context) {
  const auto kernels = kernels_for(flow);
  if (!kernels) return {};
  const auto rows = data.contiguous(), steering = contiguous(context);
  auto density = nd::empty({flow.replicas(), rows.size(0)}, rows.options());
  kernels->log_density(rows_of(rows, steering), flow.replicas(),
                       flow.values().data_ptr<float>(), density.data_ptr<float>(),
                       current_stream());
  return density;
}

std::optional<Array> data_by_cuda(const Flow& flow, const Array& latents,
                                  const Array& context) {
  const auto kernels = kernels_for(flow);
  if (!kernels) return {};
  const auto from = latents.contiguous(), steering = contiguous(context);
  auto data = nd::empty_like(from);
  kernels->from_latent(from.size(1), from.data_ptr<float>(),
                       steering.defined() ? steering.data_ptr<float>() : nullptr,
                       flow.replicas(), flow.values().data_ptr<float>(),
                       data.data_ptr<float>(), current_stream());
  return data;
}

const GlowKernels& cuda_glow_kernels() {
  // Never destroyed: the CUDA runtime may end before static objects do.
  static const auto& kernels = *make_cuda_glow_kernels(&current_stream).release();
  return kernels;
}

std::optional<double> free_device_memory() { return free_cuda_bytes(); }

std::optional<std::string> device_name() { return cuda_device_name(); }

}  // namespace kinflow
