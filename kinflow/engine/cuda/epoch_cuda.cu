// Set-up and launches of epochs.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kinflow/engine/cuda/epoch_cuda.h"
#include "kinflow/engine/cuda/epoch_state.h"
#include "kinflow/flow/cuda/fused_shapes.h"

namespace kinflow {
namespace {

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

// The decay mask as an image.
__global__ void fill_mask(DeviceFlow flow, const float* mask, float* image) {
  for (int i = threadIdx.x; i < flow.parameters; i += blockDim.x)
    image[flow.places[i]] = mask[i];
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
    std::vector<int> correlated_parameter, correlated_size;
    for (std::size_t i = 0; i < correlated.items.size(); ++i) {
      const auto block = static_cast<std::size_t>(correlated.items[i]);
      place[block] = static_cast<int>(i);
      correlated_parameter.push_back(static_cast<int>(from.parameter_of_block[block]));
      correlated_size.push_back(static_cast<int>(from.sizes[block]));
    }
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
              .correlated_parameter = upload(correlated_parameter),
              .correlated_size = upload(correlated_size),
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
    const std::size_t layer_floats =
        (static_cast<std::size_t>(flow.couplings) + 1) * b * p;
    stash_items =
        stash_groups(schedule.largest, on_device.needs().warps) * flow.stash_items * 32;
    const auto image_floats = static_cast<std::size_t>(flow.image_floats);
    images = DeviceArray<float>(s * 4 * image_floats);
    // Padding stays 0.
    check_cuda(cudaMemset(images.get(), 0, images.count() * sizeof(float)),
               "clearing workspaces");
    wait_for_uploads();
    floats = DeviceArray<float>(s * (layer_floats + b + b * p));
    stash = DeviceArray<float4>(s * static_cast<std::size_t>(stash_items));
    doubles = DeviceArray<double>(
        s * (b * (2 * p + 2) + block_count * (p + 1) + correlated + k));
    float* f = floats.get();
    double* d = doubles.get();
    const auto floats_of = [&](std::size_t each) {
      return std::exchange(f, f + s * each);
    };
    const auto doubles_of = [&](std::size_t each) {
      return std::exchange(d, d + s * each);
    };
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

EpochCuda::~EpochCuda() { wait_for_device(); }

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
    const std::int64_t resident =
        std::max(1, EpochLaunch<S>::resident(threads, needs.train_bytes));
    const std::int64_t blocks = std::min(replicas.count, resident * s.multiprocessors);
    s.make_slots(blocks);
    const EpochArguments arguments{.schedule = schedule,
                                   .blocks = s.blocks,
                                   .first_slot = s.first_slot,
                                   .largest_batch = s.schedule.largest,
                                   .stash_items = s.stash_items,
                                   .rows = rows,
                                   .replicas = replicas,
                                   .decay_mask = s.decay_mask.get()};
    EpochLaunch<S>::run(blocks, threads, needs.train_bytes, stream, s.on_device.flow(),
                        arguments);
  });
}

}  // namespace kinflow
