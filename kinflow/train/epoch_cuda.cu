// The kernel that trains a replica for an epoch, and its set-up.
#include "kinflow/train/epoch_cuda.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "kinflow/flow/fused_backward.cuh"
#include "kinflow/flow/fused_launch.h"
#include "kinflow/train/block_estimator.cuh"

namespace kinflow {
namespace {

// As in train/adamax.cpp.
constexpr double kFirstDecay = 0.9;
constexpr double kNormDecay = 0.999;
constexpr double kEpsilon = 1e-8;
// As in train/trainer.cpp: batches for which train_nll takes one value of log det C.
constexpr int kLogDetInterval = 16;

struct EpochArguments {
  DeviceSchedule schedule;
  DeviceBlocks blocks;
  DeviceSlot first_slot;
  int largest_batch;
  std::int64_t stash_items;
  EpochRows rows;
  EpochReplicas replicas;
  const float* decay_mask;  ///< image
  bool has_memory;
  double nll_offset;

  __device__ DeviceSlot slot(const DeviceFlow& flow) const {
    const std::int64_t at = blockIdx.x, b = largest_batch, p = flow.dimension;
    const DeviceSlot& s = first_slot;
    return {.layers = s.layers + at * (flow.couplings + 1) * b * p,
            .log_slopes = s.log_slopes + at * b,
            .grad = s.grad + at * b * p,
            .values = s.values + at * flow.image_floats,
            .first_moment = s.first_moment + at * flow.image_floats,
            .infinity_norm = s.infinity_norm + at * flow.image_floats,
            .gradient = s.gradient + at * flow.image_floats,
            .stash = s.stash + at * stash_items,
            .sums = s.sums + at * b * (2 * p + 2),
            .block_sums = s.block_sums + at * blocks.blocks * p,
            .block_squares = s.block_squares + at * blocks.blocks,
            .block_gradient = s.block_gradient + at * blocks.correlated,
            .parameter_gradient = s.parameter_gradient + at * blocks.parameters};
  }
};

// Sorts each batch by block, keeping the order of rows inside a block, and finds where
// the rows of a block begin and end. A thread block takes a batch.
__global__ void sort_batches(const std::int64_t* order, const int* block_of_row,
                             const int* bounds, std::int64_t* sorted, int* run_begin,
                             int* run_end) {
  const int begin = bounds[blockIdx.x], count = bounds[blockIdx.x + 1] - begin;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const std::int64_t row = order[begin + i];
    const int block = block_of_row[row];
    int before = 0, equal_before = 0, equal = 0;
    for (int j = 0; j < count; ++j) {
      const int other = block_of_row[order[begin + j]];
      before += other < block ? 1 : 0;
      equal += other == block ? 1 : 0;
      equal_before += other == block && j < i ? 1 : 0;
    }
    const int to = begin + before + equal_before;
    sorted[to] = row;
    run_begin[to] = before;
    run_end[to] = before + equal;
  }
}

__global__ void fill_mask(DeviceFlow flow, const float* mask, float* image) {
  for (int i = threadIdx.x; i < flow.parameters; i += blockDim.x)
    image[flow.places[i]] = mask[i];
}

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
                                          float rate) {
  const EpochReplicas& r = a.replicas;
  const std::int64_t steps = r.steps[replica] + 1;
  const float correction =
      1.0f - powf(static_cast<float>(kFirstDecay), static_cast<float>(steps));
  const float scale = rate / correction;
  const float decay = r.weight_decay[replica];
  auto* values = reinterpret_cast<float4*>(slot.values);
  auto* moments = reinterpret_cast<float4*>(slot.first_moment);
  auto* norms = reinterpret_cast<float4*>(slot.infinity_norm);
  const auto* gradients = reinterpret_cast<const float4*>(slot.gradient);
  const auto* masks = reinterpret_cast<const float4*>(a.decay_mask);
#pragma unroll 4
  for (int i = threadIdx.x; i < flow.image_floats / 4; i += blockDim.x) {
    float4 value = values[i], moment = moments[i], norm = norms[i];
    const float4 gradient = gradients[i], mask = masks[i];
    adamax(value.x, moment.x, norm.x, gradient.x, mask.x * decay, scale);
    adamax(value.y, moment.y, norm.y, gradient.y, mask.y * decay, scale);
    adamax(value.z, moment.z, norm.z, gradient.z, mask.z * decay, scale);
    adamax(value.w, moment.w, norm.w, gradient.w, mask.w * decay, scale);
    values[i] = value;
    moments[i] = moment;
    norms[i] = norm;
  }
  __syncthreads();
  if (threadIdx.x == 0) r.steps[replica] = steps;
}

// One step of Adamax on the dependence parameters, unless their gradient is not finite.
// All threads must call it.
__device__ __forceinline__ void step_dependence(const EpochArguments& a,
                                       const EstimatorBatch& batch,
                                       std::int64_t replica, float rate) {
  const EpochReplicas& r = a.replicas;
  const int k = a.blocks.parameters;
  double* unconstrained = r.unconstrained + replica * k;
  double* gradient = batch.slot.parameter_gradient;
  bool sound = true;
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    const double rho = correlation_of(unconstrained[i]);
    gradient[i] =
        (gradient[i] * rho * (1.0 - rho) + r.prior[replica] * (2.0 * rho - 1.0)) /
        static_cast<double>(a.schedule.rows);
    sound = sound && isfinite(gradient[i]);
  }
  if (!__syncthreads_and(sound)) return;
  const std::int64_t steps = r.dependence_steps[replica] + 1;
  const double scale = static_cast<double>(
                           rate * static_cast<float>(r.dependence_rate[replica])) /
                       (1.0 - pow(kFirstDecay, static_cast<double>(steps)));
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    double& moment = r.dependence_moment[replica * k + i];
    double& norm = r.dependence_norm[replica * k + i];
    moment += (1 - kFirstDecay) * (gradient[i] - moment);
    norm = fmax(norm * kNormDecay, fabs(gradient[i]) + kEpsilon);
    unconstrained[i] -= scale * moment / norm;
  }
  __syncthreads();
  if (threadIdx.x == 0) r.dependence_steps[replica] = steps;
}

// Writes dLoss / dlatents and returns the thread's part of the batch's NLL.
__device__ __forceinline__ double estimate_rows(const EpochArguments& a,
                                       const EstimatorBatch& batch, double memory_share,
                                       const float* log_slopes, float* grad) {
  const int p = batch.p;
  const float weight = 1.0f / static_cast<float>(batch.count);
  double sum = 0;
  for (int i = threadIdx.x; i < batch.count; i += blockDim.x) {
    const int block =
        a.blocks.blocks > 0 ? a.blocks.block_of_row[batch.row(i)] : 0;
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
__device__ __forceinline__ void train_replica(const DeviceFlow& flow, const EpochArguments& a,
                                     const BlockFlow& block, const DeviceSlot& slot,
                                     std::int64_t replica, double* scratch) {
  const EpochReplicas& r = a.replicas;
  const int p = flow.dimension;
  const double n = static_cast<double>(a.schedule.rows);
  const double memory_share = a.has_memory ? r.memory_share[replica] : 0.0;
  EstimatorBatch batch{
      .schedule = a.schedule,
      .blocks = a.blocks,
      .slot = slot,
      .begin = 0,
      .count = 0,
      .p = p,
      .latents = nullptr,
      .memory = a.has_memory ? r.memory + replica * a.schedule.rows * p : nullptr,
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
  if (a.has_memory) sum_memory(batch);

  __shared__ double train_nll, log_det;
  if (threadIdx.x == 0) train_nll = log_det = 0;
  for (int b = 0; b < a.schedule.batches; ++b) {
    batch.begin = a.schedule.bounds[b];
    batch.count = a.schedule.bounds[b + 1] - batch.begin;
    batch.pair_weight =
        batch.count > 1 ? (n - 1) / static_cast<double>(batch.count - 1) : 0.0;
    const std::int64_t numbers = static_cast<std::int64_t>(batch.count) * p;
    batch.latents = slot.layers + flow.couplings * numbers;
    if (b % kLogDetInterval == 0 && a.blocks.blocks > 0) {
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
      if (which + 1 < flow.couplings) {
        prefetch_all(slot.values + block.couplings[which + 1].image,
                     block.couplings[which + 1].image_floats);
      }
      __syncthreads();
      forward_layer<S>(block, which, rows_of(which), which > 0, slot.stash);
    }
    __syncthreads();

    if (a.blocks.blocks > 0) sum_batch(batch);
    const double nll = block_sum(
        estimate_rows(a, batch, memory_share, slot.log_slopes, slot.grad), scratch);
    if (threadIdx.x == 0)
      train_nll += (nll + log_det * (0.5 * p / n)) * (batch.count / n);

    const bool moves = a.blocks.parameters > 0 && r.moves_dependence[replica];
    // Before the way back, which needs the shared memory of the sums.
    if (moves) estimate_parameter_gradient(batch);

    BlockGradient gradient{.data = slot.grad,
                           .image = slot.gradient,
                           .log_slope = -1.0f / static_cast<float>(batch.count),
                           .unsound = 0};
    for (int which = flow.couplings - 1; which >= 0; --which) {
      // The last layer's weights are there already.
      if (which + 1 < flow.couplings) load_image(block, which, slot.values);
      if (which > 0) {
        prefetch_all(slot.values + block.couplings[which - 1].image,
                     block.couplings[which - 1].image_floats);
      } else {
        prefetch_all(slot.first_moment, flow.image_floats);
        prefetch_all(slot.infinity_norm, flow.image_floats);
      }
      __syncthreads();
      backward_layer<S>(block, which, rows_of(which), slot.stash, gradient);
    }
    const bool sound = __syncthreads_and(gradient.unsound == 0.0f) != 0;
    if (!sound && threadIdx.x == 0) ++r.skipped[replica];
    const float rate = r.learning_rate[replica] * a.rows.rate_factor[b];
    if (sound) step_flow(a, flow, slot, replica, rate);
    if (sound && moves) step_dependence(a, batch, replica, rate);
    __syncthreads();
  }
  exchange_images(flow, r, slot, replica, false);
  if (threadIdx.x == 0) r.train_nll[replica] = train_nll + a.nll_offset;
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

std::vector<int> to_int(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// Places of the items with each key in 0 .. keys - 1, one key after the other, and
// where each begins. Items with a key of -1 are left out.
struct Sorted {
  std::vector<int> items, begin;
};
Sorted sort_by_key(const std::vector<std::int64_t>& key, std::int64_t keys) {
  Sorted sorted;
  sorted.begin.assign(static_cast<std::size_t>(keys) + 1, 0);
  for (const auto k : key) {
    if (k >= 0) ++sorted.begin[static_cast<std::size_t>(k) + 1];
  }
  std::partial_sum(sorted.begin.begin(), sorted.begin.end(), sorted.begin.begin());
  sorted.items.resize(static_cast<std::size_t>(sorted.begin.back()));
  auto next = sorted.begin;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] < 0) continue;
    const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(key[i])]++);
    sorted.items[to] = static_cast<int>(i);
  }
  return sorted;
}

}  // namespace

struct EpochCuda::State {
  explicit State(EpochSetup from) : setup(std::move(from)), on_device(setup.plan) {
    const auto& bounds = setup.batch_bounds;
    if (setup.rows < 1 || setup.rows > (1 << 30) || bounds.size() < 2 ||
        bounds.front() != 0 || bounds.back() != setup.rows) {
      throw std::runtime_error("[EpochCuda] batch bounds must go from 0 to the rows");
    }
    std::int64_t largest = 0;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
      largest = std::max(largest, bounds[i + 1] - bounds[i]);
    batch_bounds = DeviceArray<int>(to_int(bounds));
    schedule = {.rows = static_cast<int>(setup.rows),
                .batches = static_cast<int>(bounds.size()) - 1,
                .largest = static_cast<int>(largest),
                .bounds = batch_bounds.get()};
    if (!setup.blocks.block_of_row.empty()) set_up_blocks();
    const auto image_floats = static_cast<std::size_t>(on_device.flow().image_floats);
    decay_mask = DeviceArray<float>(std::vector<float>(image_floats));
    int device = 0;
    check_cuda(cudaGetDevice(&device), "looking for a device");
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                      device),
               "asking for the number of multiprocessors");
  }

  void set_up_blocks() {
    const auto& from = setup.blocks;
    const auto sorted_rows =
        sort_by_key(from.block_of_row, static_cast<std::int64_t>(from.sizes.size()));
    const auto correlated = sort_by_key(from.parameter_of_block, from.parameters);
    std::vector<int> place(from.sizes.size(), -1);
    for (std::size_t i = 0; i < correlated.items.size(); ++i)
      place[static_cast<std::size_t>(correlated.items[i])] = static_cast<int>(i);
    const auto upload = [this](const std::vector<int>& numbers) {
      tables.emplace_back(numbers);
      return static_cast<const int*>(tables.back().get());
    };
    blocks = {.blocks = static_cast<int>(from.sizes.size()),
              .correlated = static_cast<int>(correlated.items.size()),
              .parameters = static_cast<int>(from.parameters),
              .block_of_row = upload(to_int(from.block_of_row)),
              .sizes = upload(to_int(from.sizes)),
              .parameter = upload(to_int(from.parameter_of_block)),
              .correlated_block = upload(correlated.items),
              .place = upload(place),
              .begin = upload(correlated.begin),
              .sorted_rows = upload(sorted_rows.items),
              .row_begin = upload(sorted_rows.begin)};
    const auto n = static_cast<std::size_t>(setup.rows);
    sorted_order = DeviceArray<std::int64_t>(n);
    run_begin = DeviceArray<int>(n);
    run_end = DeviceArray<int>(n);
    schedule.sorted_order = sorted_order.get();
    schedule.run_begin = run_begin.get();
    schedule.run_end = run_end.get();
  }

  // Workspaces for as many thread blocks as run at the same time.
  void make_slots(std::int64_t count) {
    if (count <= slots) return;
    const DeviceFlow& flow = on_device.flow();
    const auto s = static_cast<std::size_t>(count);
    const auto b = static_cast<std::size_t>(schedule.largest);
    const auto p = static_cast<std::size_t>(flow.dimension);
    const auto block_count = static_cast<std::size_t>(blocks.blocks);
    const auto correlated = static_cast<std::size_t>(blocks.correlated);
    const auto k = static_cast<std::size_t>(blocks.parameters);
    const std::size_t layer_floats = (static_cast<std::size_t>(flow.couplings) + 1) * b * p;
    stash_items =
        stash_groups(schedule.largest, on_device.needs().warps) * flow.stash_items * 32;
    const auto image_floats = static_cast<std::size_t>(flow.image_floats);
    images = DeviceArray<float>(s * 4 * image_floats);
    // Padding stays 0.
    check_cuda(cudaMemset(images.get(), 0, images.count() * sizeof(float)),
               "clearing workspaces");
    floats = DeviceArray<float>(s * (layer_floats + b + b * p));
    stash = DeviceArray<float4>(s * static_cast<std::size_t>(stash_items));
    doubles = DeviceArray<double>(
        s * (b * (2 * p + 2) + block_count * (p + 1) + correlated + k));
    float* f = floats.get();
    double* d = doubles.get();
    const auto floats_of = [&](std::size_t each) { return std::exchange(f, f + s * each); };
    const auto doubles_of = [&](std::size_t each) { return std::exchange(d, d + s * each); };
    first_slot = {.layers = floats_of(layer_floats),
                  .log_slopes = floats_of(b),
                  .grad = floats_of(b * p),
                  .values = images.get(),
                  .first_moment = images.get() + s * image_floats,
                  .infinity_norm = images.get() + s * 2 * image_floats,
                  .gradient = images.get() + s * 3 * image_floats,
                  .stash = stash.get(),
                  .sums = doubles_of(b * (2 * p + 2)),
                  .block_sums = doubles_of(block_count * p),
                  .block_squares = doubles_of(block_count),
                  .block_gradient = doubles_of(correlated),
                  .parameter_gradient = doubles_of(k)};
    slots = count;
  }

  EpochSetup setup;
  FlowOnDevice on_device;
  int multiprocessors = 0;
  DeviceArray<int> batch_bounds, run_begin, run_end;
  DeviceArray<std::int64_t> sorted_order;
  std::vector<DeviceArray<int>> tables;
  DeviceSchedule schedule{};
  DeviceBlocks blocks{};
  std::int64_t slots = 0, stash_items = 0;
  DeviceArray<float> floats, images, decay_mask;
  DeviceArray<float4> stash;
  DeviceArray<double> doubles;
  DeviceSlot first_slot{};
};

bool EpochCuda::fits(const EpochSetup& setup) {
  return FlowOnDevice::needs(setup.plan).shape != FusedShape::none;
}

EpochCuda::EpochCuda(EpochSetup setup)
    : state_(std::make_unique<State>(std::move(setup))) {}

EpochCuda::~EpochCuda() = default;

void EpochCuda::run(const EpochRows& rows, const EpochReplicas& replicas,
                    void* stream) {
  State& s = *state_;
  if (replicas.count == 0) return;
  DeviceSchedule schedule = s.schedule;
  if (s.blocks.blocks > 0) {
    launch(sort_batches, schedule.batches, 256, 0, stream, rows.order,
           s.blocks.block_of_row, schedule.bounds, s.sorted_order.get(),
           s.run_begin.get(), s.run_end.get());
  } else {
    schedule.sorted_order = rows.order;
  }
  launch(fill_mask, 1, 1024, 0, stream, s.on_device.flow(), replicas.decay_mask,
         s.decay_mask.get());
  const auto& needs = s.on_device.needs();
  const int threads = needs.warps * 32;
  with_shape(needs.shape, [&]<typename S>() {
    int resident = 0;
    check_cuda(cudaFuncSetAttribute(epoch_kernel<S>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(needs.train_bytes)),
               "asking for shared memory");
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &resident, epoch_kernel<S>, threads, needs.train_bytes),
               "asking how many blocks run at the same time");
    const std::int64_t blocks =
        std::min<std::int64_t>(replicas.count,
                               static_cast<std::int64_t>(std::max(1, resident)) *
                                   s.multiprocessors);
    s.make_slots(blocks);
    const EpochArguments arguments{
        .schedule = schedule,
        .blocks = s.blocks,
        .first_slot = s.first_slot,
        .largest_batch = s.schedule.largest,
        .stash_items = s.stash_items,
        .rows = rows,
        .replicas = replicas,
        .decay_mask = s.decay_mask.get(),
        .has_memory = s.setup.has_memory && s.blocks.parameters > 0,
        .nll_offset = s.setup.nll_offset + 0.5 * s.on_device.flow().dimension *
                                               std::log(2 * std::numbers::pi)};
    launch(epoch_kernel<S>, blocks, threads, needs.train_bytes, stream,
           s.on_device.flow(), arguments);
  });
}

}  // namespace kinflow
