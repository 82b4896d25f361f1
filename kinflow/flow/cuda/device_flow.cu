// Padding and placing of a plan's layers, and the choice of a launch shape.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "kinflow/flow/cuda/device_flow.h"

namespace kinflow {
namespace {

// What one block may use on compute capability 9.0, less what the system keeps.
constexpr std::size_t kBlockBytes = 227 * 1024;
constexpr int kTileColumns = 8;

int padded(std::int64_t count) { return static_cast<int>((count + 15) / 16 * 16); }

struct Layout {
  DeviceFlow flow{};
  std::vector<DeviceCoupling> couplings;
  std::vector<DeviceLinear> linears;
  std::vector<int> columns;
  std::vector<int> places;
  int widest = 16;  // padded width of any activation or chunk
  // As the shapes of these names expect.
  bool is_common = true, is_regular = true;
};

// Widths from which indices could overflow or no kernel is made; checked before any
// arithmetic in int.
bool is_small(const FlowPlan& plan) {
  const auto fits = [](std::int64_t count) { return count <= 1 << 14; };
  bool small = plan.latent_map < 0 && plan.parameters < (std::int64_t{1} << 30) &&
               fits(plan.dimension) && fits(plan.context) &&
               fits(plan.parameters_per_column);
  for (const auto& coupling : plan.couplings) {
    for (const auto& linear : coupling.linears) {
      small = small && fits(linear.inputs) && fits(linear.outputs);
    }
  }
  return small;
}

// Places of a linear layer's values in the replica's image.
void place_linear(Layout& layout, const LinearPlan& from, const DeviceLinear& to,
                  int image, bool is_first, bool is_last) {
  const DeviceFlow& flow = layout.flow;
  const int per_chunk = flow.columns_per_chunk * flow.parameters_per_column;
  for (int out = 0; out < from.outputs; ++out) {
    const int column =
        is_last ? out / per_chunk * flow.chunk_width + out % per_chunk : out;
    for (int in = 0; in < from.inputs; ++in) {
      layout.places[static_cast<std::size_t>(from.weight + in * from.outputs + out)] =
          image + to.at + in * to.stride + (is_first ? column : swizzled(in, column));
    }
    layout.places[static_cast<std::size_t>(from.bias + out)] =
        image + to.bias_at + column;
  }
}

Layout lay_out(const FlowPlan& plan) {
  Layout layout;
  DeviceFlow& flow = layout.flow;
  const int per_column = static_cast<int>(plan.parameters_per_column);
  flow.is_spline = plan.kind == FlowKind::spline;
  flow.dimension = static_cast<int>(plan.dimension);
  flow.context = static_cast<int>(plan.context);
  flow.bins = static_cast<int>(plan.bins);
  flow.parameters_per_column = per_column;
  flow.columns_per_chunk = std::max(1, 64 / per_column);
  int most_mapped = 1;
  for (const auto& coupling : plan.couplings) {
    most_mapped = std::max(most_mapped, static_cast<int>(coupling.mapped.size()));
  }
  flow.columns_per_chunk = std::min(flow.columns_per_chunk, most_mapped);
  flow.chunk_width = padded(flow.columns_per_chunk * per_column);
  flow.bound = static_cast<float>(plan.bound);
  flow.parameters = static_cast<int>(plan.parameters);
  flow.couplings = static_cast<int>(plan.couplings.size());
  layout.widest = flow.chunk_width;
  layout.places.resize(static_cast<std::size_t>(plan.parameters));
  layout.is_regular = flow.is_spline && flow.bins == 16 && flow.chunk_width == 48;

  for (const auto& coupling : plan.couplings) {
    DeviceCoupling to{.unchanged = static_cast<int>(coupling.unchanged.size()),
                      .mapped = static_cast<int>(coupling.mapped.size()),
                      .column_begin = static_cast<int>(layout.columns.size()),
                      .linear_begin = static_cast<int>(layout.linears.size()),
                      .linear_count = static_cast<int>(coupling.linears.size()),
                      .log_scale = -1,
                      .shift = -1,
                      .stash_begin = flow.stash_items,
                      .stash_items = 0,
                      .image = flow.image_floats,
                      .image_floats = 0,
                      .values = static_cast<int>(coupling.linears.front().weight),
                      .value_count = 0};
    for (const auto* list : {&coupling.unchanged, &coupling.mapped}) {
      for (const auto column : *list) {
        layout.columns.push_back(static_cast<int>(column));
      }
    }
    layout.is_common = layout.is_common && to.mapped == 1 && to.linear_count == 3;
    const int chunks =
        (to.mapped + flow.columns_per_chunk - 1) / flow.columns_per_chunk;
    int at = 0;
    for (int i = 0; i < to.linear_count; ++i) {
      const auto& from = coupling.linears[static_cast<std::size_t>(i)];
      const bool is_first = i == 0, is_last = i + 1 == to.linear_count;
      DeviceLinear linear{
          .inputs = static_cast<int>(from.inputs),
          .rows = is_first ? static_cast<int>(from.inputs) : padded(from.inputs),
          .columns = is_last ? chunks * flow.chunk_width : padded(from.outputs),
          .stride = 0,
          .at = at,
          .bias_at = 0,
          .stash = -1};
      linear.stride = is_first ? linear.columns : linear.columns + kTileColumns;
      linear.bias_at = at + linear.rows * linear.stride;
      at = linear.bias_at + linear.columns;
      if (!is_first || is_last) {
        linear.stash = to.stash_items;
        to.stash_items += linear.columns / kTileColumns;
      }
      place_linear(layout, from, linear, to.image, is_first, is_last);
      layout.widest = std::max(layout.widest, padded(from.inputs));
      if (!is_last) {
        layout.widest = std::max(layout.widest, linear.columns);
        layout.is_regular = layout.is_regular && linear.columns == 64;
      }
      layout.linears.push_back(linear);
    }
    const auto& last = coupling.linears.back();
    std::int64_t end = last.bias + last.outputs;
    if (coupling.log_scale >= 0) {
      to.log_scale = at;
      to.shift = at + flow.dimension;
      at += 2 * flow.dimension;
      end = coupling.shift + plan.dimension;
      for (int c = 0; c < flow.dimension; ++c) {
        layout.places[static_cast<std::size_t>(coupling.log_scale + c)] =
            to.image + to.log_scale + c;
        layout.places[static_cast<std::size_t>(coupling.shift + c)] =
            to.image + to.shift + c;
      }
    }
    to.image_floats = (at + 3) / 4 * 4;
    to.value_count = static_cast<int>(end) - to.values;
    flow.image_floats += to.image_floats;
    flow.stash_items += to.stash_items;
    flow.weight_floats = std::max(flow.weight_floats, to.image_floats);
    layout.couplings.push_back(to);
  }
  layout.is_regular = layout.is_regular && layout.widest == 64;
  layout.is_common = layout.is_common && layout.is_regular;
  flow.linears = static_cast<int>(layout.linears.size());
  flow.columns = static_cast<int>(layout.columns.size());
  flow.stage_stride = layout.widest + kTileColumns;
  return layout;
}

FlowOnDevice::Needs needs_of(const Layout& layout) {
  const DeviceFlow& flow = layout.flow;
  FlowOnDevice::Needs needs;
  // Inputs of any number may be staged, but activations live in registers.
  int widest_tile = flow.chunk_width;
  for (const auto& coupling : layout.couplings) {
    for (int i = 0; i + 1 < coupling.linear_count; ++i) {
      widest_tile = std::max(
          widest_tile,
          layout.linears[static_cast<std::size_t>(coupling.linear_begin + i)].columns);
    }
  }
  const FusedShape shape = layout.is_common     ? FusedShape::common
                           : layout.is_regular  ? FusedShape::regular
                           : widest_tile <= 64  ? FusedShape::narrow
                           : widest_tile <= 128 ? FusedShape::wide
                                                : FusedShape::none;
  if (shape == FusedShape::none) return needs;
  const auto fixed = static_cast<std::size_t>(flow.table_floats() + flow.weight_floats);
  const auto stage = static_cast<std::size_t>(kWarpRows * flow.stage_stride);
  needs.forward_bytes = (fixed + kForwardWarps * stage) * sizeof(float);
  for (const int warps : {8, 4, 2}) {
    needs.warps = warps;
    needs.train_bytes =
        (fixed + 2 * static_cast<std::size_t>(warps) * stage) * sizeof(float) +
        kTrainScratchBytes;
    if (needs.train_bytes <= kBlockBytes) {
      needs.shape = shape;
      break;
    }
  }
  // Blocks that map rows keep some of the rows in shared memory too.
  const auto rows = static_cast<std::size_t>(kForwardWarps * kWarpRows) *
                    static_cast<std::size_t>(flow.dimension + 1) * sizeof(float);
  if (needs.forward_bytes + rows > kBlockBytes) needs.shape = FusedShape::none;
  return needs;
}

}  // namespace

FlowOnDevice::Needs FlowOnDevice::needs(const FlowPlan& plan) {
  if (!is_small(plan)) return {};
  return needs_of(lay_out(plan));
}

FlowOnDevice::FlowOnDevice(const FlowPlan& plan) : needs_(needs(plan)) {
  if (needs_.shape == FusedShape::none) {
    throw std::runtime_error("the flow is too large for fused CUDA kernels");
  }
  const Layout layout = lay_out(plan);
  flow_ = layout.flow;
  std::vector<int> table(static_cast<std::size_t>(flow_.table_floats()));
  int* to = table.data();
  const auto append = [&to](const auto& items) {
    const std::size_t bytes = items.size() * sizeof(items[0]);
    std::memcpy(to, items.data(), bytes);
    to += bytes / sizeof(int);
  };
  append(layout.couplings);
  append(layout.linears);
  append(layout.columns);
  table_ = DeviceArray<int>(table);
  places_ = DeviceArray<int>(layout.places);
  flow_.table = table_.get();
  flow_.places = places_.get();
}

}  // namespace kinflow
