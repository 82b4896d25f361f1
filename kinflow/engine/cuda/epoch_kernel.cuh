// The kernel that trains a replica for an epoch.
#pragma once

#include "kinflow/engine/cuda/block_estimator.cuh"
#include "kinflow/flow/cuda/fused_backward.cuh"

namespace kinflow {

// As in engine/adamax.cpp.
constexpr double kFirstDecay = 0.9;
constexpr double kNormDecay = 0.999;
constexpr double kEpsilon = 1e-8;
// As in engine/trainer.cpp: batches for which train_nll takes one value of log det C.
constexpr int kLogDetBatches = 16;

// Brings a replica's values and moments into the slot, or back.
__device__ __forceinline__ void exchange_images(const DeviceFlow& flow,
                                                const EpochReplicas& r,
                                                const DeviceSlot& slot,
                                                std::int64_t replica, bool fetches) {
  const std::int64_t begin = replica * flow.parameters;
  for (int i = threadIdx.x; i < flow.parameters; i += blockDim.x) {
    const int place = flow.places[i];
    const auto exchange = [&](float& number, float& in_image) {
      (fetches ? in_image : number) = fetches ? number : in_image;
    };
    exchange(r.values[begin + i], slot.values[place]);
    exchange(r.first_moment[begin + i], slot.first_moment[place]);
    exchange(r.infinity_norm[begin + i], slot.infinity_norm[place]);
  }
  __syncthreads();
}

__device__ __forceinline__ void adamax(float& value, float& moment, float& norm,
                                       float gradient, float decay, float scale) {
  const float decayed = fmaf(value, decay, gradient);
  moment = fmaf(static_cast<float>(1 - kFirstDecay), decayed - moment, moment);
  norm = fmaxf(norm * static_cast<float>(kNormDecay),
               fabsf(decayed) + static_cast<float>(kEpsilon));
  value -= __fdividef(scale * moment, norm);
}

// One step of Adamax on the flow's values. All threads must call it. The places that
// only pad the image have gradient 0 and stay 0.
__device__ __forceinline__ void step_flow(const EpochArguments& a,
                                          const DeviceFlow& flow,
                                          const DeviceSlot& slot, std::int64_t replica,
                                          float scale) {
  const EpochReplicas& r = a.replicas;
  const float decay = r.weight_decay[replica];
  auto* values = reinterpret_cast<float4*>(slot.values);
  auto* moments = reinterpret_cast<float4*>(slot.first_moment);
  auto* norms = reinterpret_cast<float4*>(slot.infinity_norm);
  const auto* gradients = reinterpret_cast<const float4*>(slot.gradient);
  const auto* masks = reinterpret_cast<const float4*>(a.decay_mask);
  // All loads before the first store, which the compiler would not pass: what counts
  // here is how many numbers are under way.
  constexpr int kAtOnce = 3;
  const int count = flow.image_floats / 4, threads = static_cast<int>(blockDim.x);
  for (int first = static_cast<int>(threadIdx.x); first < count;
       first += kAtOnce * threads) {
    float4 value[kAtOnce], moment[kAtOnce], norm[kAtOnce], gradient[kAtOnce],
        mask[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = min(first + k * threads, count - 1);
      value[k] = __ldcg(values + i);
      moment[k] = __ldcg(moments + i);
      norm[k] = __ldcg(norms + i);
      gradient[k] = __ldcg(gradients + i);
      mask[k] = __ldg(masks + i);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = first + k * threads;
      if (i < count) {
        const auto step = [&](float4& v, float4& m, float4& n) {
          const float4 g = gradient[k], d = mask[k];
          adamax(v.x, m.x, n.x, g.x, d.x * decay, scale);
          adamax(v.y, m.y, n.y, g.y, d.y * decay, scale);
          adamax(v.z, m.z, n.z, g.z, d.z * decay, scale);
          adamax(v.w, m.w, n.w, g.w, d.w * decay, scale);
        };
        step(value[k], moment[k], norm[k]);
        __stcg(values + i, value[k]);
        __stcg(moments + i, moment[k]);
        __stcg(norms + i, norm[k]);
      }
    }
  }
  if (threadIdx.x == 0) ++r.steps[replica];
}

// One step of Adamax on the dependence parameters. All threads must call it.
__device__ __forceinline__ void step_dependence(const EpochArguments& a,
                                                const DeviceSlot& slot,
                                                std::int64_t replica, double scale) {
  const EpochReplicas& r = a.replicas;
  const int k = a.blocks.parameters;
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    const std::int64_t at = replica * k + i;
    const double gradient = slot.parameter_gradient[i], value = r.unconstrained[at];
    double moment = r.dependence_moment[at], norm = r.dependence_norm[at];
    moment += (1 - kFirstDecay) * (gradient - moment);
    norm = fmax(norm * kNormDecay, fabs(gradient) + kEpsilon);
    r.dependence_moment[at] = moment;
    r.dependence_norm[at] = norm;
    r.unconstrained[at] = value - scale * moment / norm;
  }
  if (threadIdx.x == 0) ++r.dependence_steps[replica];
}

// Learning rates of a step with the correction for the moments' start.
struct StepScales {
  float flow;
  double dependence;
};
__device__ inline StepScales step_scales(const EpochReplicas& r, std::int64_t replica,
                                         float factor) {
  const float rate = r.learning_rate[replica] * factor;
  StepScales scales{};
  scales.flow = rate / (1.0f - powf(static_cast<float>(kFirstDecay),
                                    static_cast<float>(r.steps[replica] + 1)));
  if (r.dependence_steps != nullptr) {
    scales.dependence =
        static_cast<double>(rate * static_cast<float>(r.dependence_rate[replica])) /
        (1.0 - pow(kFirstDecay, static_cast<double>(r.dependence_steps[replica] + 1)));
  }
  return scales;
}

// Writes dLoss / dlatents and returns the thread's part of the batch's NLL.
__device__ __forceinline__ double estimate_rows(const EpochArguments& a,
                                                const EstimatorBatch& batch,
                                                double memory_share,
                                                const float* log_slopes, float* grad) {
  const int p = batch.p;
  const float weight = 1.0f / static_cast<float>(batch.count);
  double sum = 0;
  for (int i = threadIdx.x; i < batch.count; i += blockDim.x) {
    const int block = a.blocks.blocks > 0 ? a.blocks.block_of_row[batch.row(i)] : 0;
    float loss = -log_slopes[i], half = 0;
    const auto take = [&](int c, float precision) {
      const float u = batch.latents[i * p + c];
      loss = fmaf(u, precision, loss);
      half = fmaf(0.5f * finite_or_zero(u), precision, half);
      grad[i * p + c] = precision * weight;
    };
    if (a.blocks.blocks > 0) {
      const BlockTerms terms(a.blocks, batch.unconstrained, block);
      for (int c = 0; c < p; ++c)
        take(c, precision_element(batch, terms, i, c, block, memory_share));
    } else {
      for (int c = 0; c < p; ++c) take(c, finite_or_zero(batch.latents[i * p + c]));
    }
    sum += static_cast<double>(loss - half);
  }
  return sum / static_cast<double>(batch.count);
}

template <typename S>
__device__ __forceinline__ void train_replica(const DeviceFlow& flow,
                                              const EpochArguments& a,
                                              const BlockFlow& block,
                                              const DeviceSlot& slot,
                                              std::int64_t replica, double* scratch) {
  const EpochReplicas& r = a.replicas;
  const int p = flow.dimension;
  const double n = static_cast<double>(a.schedule.rows);
  const bool has_memory =
      a.blocks.parameters > 0 && r.has_memory != nullptr && r.has_memory[replica];
  const double memory_share = has_memory ? r.memory_share[replica] : 0.0;
  EstimatorBatch batch{
      .schedule = a.schedule,
      .blocks = a.blocks,
      .slot = slot,
      .begin = 0,
      .count = 0,
      .p = p,
      .latents = nullptr,
      .memory = has_memory ? r.memory + replica * a.schedule.rows * p : nullptr,
      .unconstrained = a.blocks.parameters > 0
                           ? r.unconstrained + replica * a.blocks.parameters
                           : nullptr,
      .pair_weight = 0,
      .all_sums = slot.sums};
  // Staging rows are free while the estimator works.
  if (static_cast<std::size_t>(a.largest_batch) * (2 * p + 2) * sizeof(double) <=
      static_cast<std::size_t>(2 * block.warps * kWarpRows * flow.stage_stride) *
          sizeof(float)) {
    batch.all_sums = reinterpret_cast<double*>(block.stage);
  }
  exchange_images(flow, r, slot, replica, true);
  if (has_memory) sum_memory(batch);

  __shared__ double train_nll, log_det;
  __shared__ StepScales scales;
  if (threadIdx.x == 0) train_nll = log_det = 0;
  for (int b = 0; b < a.schedule.batches; ++b) {
    batch.begin = a.schedule.bounds[b];
    batch.count = a.schedule.bounds[b + 1] - batch.begin;
    batch.pair_weight =
        batch.count > 1 ? (n - 1) / static_cast<double>(batch.count - 1) : 0.0;
    const std::int64_t numbers = static_cast<std::int64_t>(batch.count) * p;
    batch.latents = slot.layers + flow.couplings * numbers;
    if (b % kLogDetBatches == 0 && a.blocks.blocks > 0) {
      const double sum = block_log_det(batch, scratch);
      if (threadIdx.x == 0) log_det = sum;
    }
    const auto rows_of = [&](int layer) {
      float* in = slot.layers + layer * numbers;
      return BlockRows{.count = batch.count,
                       .in = in,
                       .out = in + numbers,
                       .log_slopes = slot.log_slopes,
                       .context = a.rows.context,
                       .index = a.schedule.sorted_order + batch.begin,
                       .context_begin = 0};
    };
    for (int i = threadIdx.x; i < numbers; i += blockDim.x) {
      slot.layers[i] =
          a.rows.data[static_cast<std::int64_t>(batch.row(i / p)) * p + i % p];
    }
    for (int which = 0; which < flow.couplings; ++which) {
      __syncthreads();
      load_image(block, which, slot.values);
      __syncthreads();
      forward_layer<S>(block, which, rows_of(which), which > 0, slot.stash);
    }
    __syncthreads();

    if (a.blocks.blocks > 0) sum_batch(batch);
    const double nll = block_sum(
        estimate_rows(a, batch, memory_share, slot.log_slopes, slot.grad), scratch);
    if (threadIdx.x == 0)
      train_nll += (nll + log_det * (0.5 * p / n)) * (batch.count / n);

    // Before the way back, which needs the shared memory of the sums.
    const bool moves = a.blocks.parameters > 0 && r.moves_dependence[replica] &&
                       estimate_parameter_gradient(batch, r.prior[replica]);
    if (threadIdx.x == 0) scales = step_scales(r, replica, a.rows.rate_factor[b]);

    BlockGradient gradient{.data = slot.grad,
                           .image = slot.gradient,
                           .log_slope = -1.0f / static_cast<float>(batch.count),
                           .unsound = 0};
    for (int which = flow.couplings - 1; which >= 0; --which) {
      // The last layer's weights are there already.
      if (which + 1 < flow.couplings) load_image(block, which, slot.values);
      __syncthreads();
      backward_layer<S>(block, which, rows_of(which), slot.stash, gradient);
    }
    const bool sound = __syncthreads_and(gradient.unsound == 0.0f) != 0;
    if (!sound && threadIdx.x == 0) ++r.skipped[replica];
    if (sound) step_flow(a, flow, slot, replica, scales.flow);
    if (sound && moves) step_dependence(a, slot, replica, scales.dependence);
    __syncthreads();
  }
  exchange_images(flow, r, slot, replica, false);
  if (threadIdx.x == 0) r.train_nll[replica] = train_nll;
}

template <typename S>
__global__ void __launch_bounds__(256, S::kBlocks)
    epoch_kernel(DeviceFlow flow, EpochArguments a) {
  extern __shared__ float4 shared[];
  const BlockFlow block(flow, reinterpret_cast<float*>(shared));
  // Pointers that are seldom used would take registers from the products.
  __shared__ DeviceSlot slot;
  __shared__ double scratch[32];
  if (threadIdx.x == 0) slot = a.slot(flow);
  __syncthreads();
  for (std::int64_t replica = blockIdx.x; replica < a.replicas.count;
       replica += gridDim.x) {
    if (a.replicas.active != nullptr && !a.replicas.active[replica]) continue;
    train_replica<S>(flow, a, block, slot, replica, scratch);
  }
}

template <typename S>
int EpochLaunch<S>::resident(int threads, std::size_t shared_bytes) {
  int count = 0;
  allow_shared_memory(epoch_kernel<S>);
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, epoch_kernel<S>,
                                                           threads, shared_bytes),
             "asking how many blocks run at the same time");
  return count;
}

template <typename S>
void EpochLaunch<S>::run(std::int64_t blocks, int threads, std::size_t shared_bytes,
                         void* stream, const DeviceFlow& flow,
                         const EpochArguments& arguments) {
  launch(epoch_kernel<S>, blocks, threads, shared_bytes, stream, flow, arguments);
}

}  // namespace kinflow
