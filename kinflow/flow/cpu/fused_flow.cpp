// Choice of kernels, layout of their workspace, and the loops over tiles and threads.
#include "kinflow/flow/cpu/fused_flow.h"

#include <algorithm>
#include <vector>

namespace kinflow {

extern const FlowKernels<float> float_kernels_portable;
extern const FlowKernels<double> double_kernels_portable;
#ifdef KINFLOW_X86_KERNELS
extern const FlowKernels<float> float_kernels_avx2, float_kernels_avx512;
extern const FlowKernels<double> double_kernels_avx2, double_kernels_avx512;
#endif

namespace {

// Tiles that a thread takes at once where there are many rows.
constexpr std::int64_t kTilesAtOnce = 16;
// Most parts of a batch that have their own gradients.
constexpr std::int64_t kMostGroups = 16;
// Kernels read whole vectors of features.
constexpr std::int64_t kWidestVector = 16;

std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

template <typename Real>
const FlowKernels<Real>* kernels_of(InstructionSet set) {
  set = available(set);
  constexpr bool kIsFloat = std::is_same_v<Real, float>;
#ifdef KINFLOW_X86_KERNELS
  if (set == InstructionSet::avx512) {
    if constexpr (kIsFloat)
      return &float_kernels_avx512;
    else
      return &double_kernels_avx512;
  }
  if (set == InstructionSet::avx2) {
    if constexpr (kIsFloat)
      return &float_kernels_avx2;
    else
      return &double_kernels_avx2;
  }
#endif
  if constexpr (kIsFloat)
    return &float_kernels_portable;
  else
    return &double_kernels_portable;
}

// Arrays of a tile of rows, one after the other.
template <typename Real>
struct TileArrays {
  std::int64_t columns, context, log_abs_det, end;  // offsets

  explicit TileArrays(const FlowPlan& plan)
      : columns(0),
        context(plan.dimension * kTileRows),
        log_abs_det(context + plan.context * kTileRows),
        end(log_abs_det + kTileRows) {}

  Tile<Real> at(Real* start, std::int64_t rows) const {
    return {start + columns, start + context, start + log_abs_det, rows};
  }
};

// Rows [first, first + count) of a matrix, feature by feature; unused rows are 0.
template <typename Real>
void gather(const Real* matrix, std::int64_t columns, const RowSet<Real>& set,
            std::int64_t first, std::int64_t count, Real* to) {
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t row = set.rows != nullptr ? set.rows[first + r] : first + r;
    const Real* from = matrix + row * columns;
    for (std::int64_t c = 0; c < columns; ++c) to[c * kTileRows + r] = from[c];
  }
  if (count == kTileRows) return;
  for (std::int64_t c = 0; c < columns; ++c) {
    std::fill(to + c * kTileRows + count, to + (c + 1) * kTileRows, Real(0));
  }
}

template <typename Real>
void scatter(const Real* from, std::int64_t columns, std::int64_t first,
             std::int64_t count, Real* to) {
  for (std::int64_t r = 0; r < count; ++r) {
    Real* row = to + (first + r) * columns;
    for (std::int64_t c = 0; c < columns; ++c) row[c] = from[c * kTileRows + r];
  }
}

template <typename Real>
Tile<Real> gather_tile(const FlowPlan& plan, const RowSet<Real>& rows,
                       std::int64_t first, Real* start) {
  const auto count = std::min(kTileRows, rows.count - first);
  const TileArrays<Real> arrays(plan);
  const auto tile = arrays.at(start, count);
  gather(rows.data, plan.dimension, rows, first, count, tile.columns);
  if (plan.context > 0) {
    gather(rows.context, plan.context, rows, first, count, start + arrays.context);
  }
  std::fill(tile.log_abs_det, tile.log_abs_det + kTileRows, Real(0));
  return tile;
}

std::int64_t tiles_of(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

// Parts of a batch that have their own gradients.
std::int64_t groups_of(std::int64_t tiles) { return std::min(tiles, kMostGroups); }

// One thread adds up the gradients of single tiles in their order, as several threads'
// are added up at the end.
bool adds_in_place(std::int64_t tiles, std::int64_t threads) {
  return threads == 1 && groups_of(tiles) == tiles;
}

}  // namespace

template <typename Real>
struct FusedFlow<Real>::Kernels {
  FlowPlan plan;
  std::vector<std::vector<KernelLinear>> linears;
  std::vector<KernelCoupling> couplings;
  KernelPlan raw;
  const FlowKernels<Real>* table;

  Kernels(const FlowPlan& given, InstructionSet set)
      : plan(given), raw(), table(kernels_of<Real>(set)) {
    raw = {.is_spline = plan.kind == FlowKind::spline,
           .dimension = plan.dimension,
           .context = plan.context,
           .bins = plan.bins,
           .parameters_per_column = plan.parameters_per_column,
           .bound = plan.bound,
           .couplings = nullptr,
           .coupling_count = static_cast<std::int64_t>(plan.couplings.size()),
           .workspace = 0,
           .widest = 0,
           .parameters = plan.parameters,
           .latent_map = plan.latent_map};
    for (const auto& coupling : plan.couplings) add(coupling);
    for (std::size_t i = 0; i < couplings.size(); ++i) {
      couplings[i].linears = linears[i].data();
    }
    raw.couplings = couplings.data();
  }

  // Numbers that training keeps of a tile.
  std::int64_t kept() const {
    return raw.coupling_count * raw.workspace +
           (plan.latent_map >= 0 ? 2 * plan.dimension * kTileRows : 0);
  }

  void add(const CouplingPlan& coupling) {
    std::int64_t end = 0;
    const auto take = [&end](std::int64_t features) {
      const auto start = end;
      end += round_up(features, kWidestVector) * kTileRows;
      return start;
    };
    const auto unchanged = static_cast<std::int64_t>(coupling.unchanged.size());
    const auto mapped = static_cast<std::int64_t>(coupling.mapped.size());
    KernelCoupling made{
        .unchanged = coupling.unchanged.data(),
        .mapped = coupling.mapped.data(),
        .unchanged_count = unchanged,
        .mapped_count = mapped,
        .linears = nullptr,
        .linear_count = static_cast<std::int64_t>(coupling.linears.size()),
        .log_scale = coupling.log_scale,
        .shift = coupling.shift,
        .inputs = take(unchanged + plan.context),
        .saved = take(mapped * kSaved),
        .normed = take(coupling.shift >= 0 ? plan.dimension : 0)};
    auto& layers = linears.emplace_back();
    for (const auto& linear : coupling.linears) {
      layers.push_back(
          {.inputs = linear.inputs,
           .outputs = linear.outputs,
           .weight = linear.weight,
           .bias = linear.bias,
           .result = take(linear.outputs),
           .slope = take(&linear == &coupling.linears.back() ? 0 : linear.outputs)});
      raw.widest = std::max({raw.widest, round_up(linear.outputs, kWidestVector),
                             round_up(linear.inputs, kWidestVector)});
    }
    couplings.push_back(made);
    raw.workspace = std::max(raw.workspace, end);
  }
};

template <typename Real>
FusedFlow<Real>::FusedFlow(const FlowPlan& plan, InstructionSet set)
    : kernels_(std::make_unique<const Kernels>(plan, set)) {}

template <typename Real>
FusedFlow<Real>::~FusedFlow() = default;

template <typename Real>
const FlowPlan& FusedFlow<Real>::plan() const {
  return kernels_->plan;
}

template <typename Real>
std::string FusedFlow<Real>::instruction_set() const {
  return kernels_->table->name;
}

// Calls map(tile, workspace, first row) for all tiles of the rows.
template <typename Real>
template <typename Map>
void FusedFlow<Real>::for_tiles(const RowSet<Real>& rows, Workers& workers,
                                const Map& map) const {
  const Kernels& k = *kernels_;
  const std::int64_t own = TileArrays<Real>(k.plan).end;
  const std::int64_t per_thread = own + k.raw.workspace;
  AlignedVector<Real> memory(static_cast<std::size_t>(per_thread * workers.threads()));
  const std::int64_t tiles = tiles_of(rows.count);
  workers.run((tiles + kTilesAtOnce - 1) / kTilesAtOnce,
              [&](std::int64_t turn, std::int64_t thread) {
                Real* start = memory.data() + thread * per_thread;
                const auto end = std::min(tiles, (turn + 1) * kTilesAtOnce);
                for (auto i = turn * kTilesAtOnce; i < end; ++i) {
                  const auto first = i * kTileRows;
                  map(gather_tile(k.plan, rows, first, start), start + own, first);
                }
              });
}

template <typename Real>
void FusedFlow<Real>::to_latent(const Real* values, const RowSet<Real>& rows,
                                Real* latents, Real* log_abs_det,
                                Workers& workers) const {
  const Kernels& k = *kernels_;
  for_tiles(rows, workers,
            [&](const Tile<Real>& tile, Real* workspace, std::int64_t first) {
              k.table->to_latent(k.raw, values, tile, workspace, false);
              scatter(tile.columns, k.plan.dimension, first, tile.rows, latents);
              std::copy_n(tile.log_abs_det, tile.rows, log_abs_det + first);
            });
}

template <typename Real>
void FusedFlow<Real>::from_latent(const Real* values, const RowSet<Real>& rows,
                                  Real* data, Workers& workers) const {
  const Kernels& k = *kernels_;
  for_tiles(rows, workers,
            [&](const Tile<Real>& tile, Real* workspace, std::int64_t first) {
              k.table->from_latent(k.raw, values, tile, workspace);
              scatter(tile.columns, k.plan.dimension, first, tile.rows, data);
            });
}

template <typename Real>
void FusedBatch<Real>::reserve(std::int64_t rows, std::int64_t threads) {
  const auto& k = *flow_.kernels_;
  const std::int64_t tiles = tiles_of(rows);
  const auto at_least = [](AlignedVector<Real>& vector, std::int64_t size) {
    if (static_cast<std::int64_t>(vector.size()) < size) {
      vector.resize(static_cast<std::size_t>(size));
    }
  };
  at_least(workspace_, tiles * k.kept());
  at_least(scratch_,
           threads * (TileArrays<Real>(k.plan).end + 3 * k.raw.widest * kTileRows));
  if (!adds_in_place(tiles, threads)) {
    at_least(partial_, (groups_of(tiles) - 1) * k.plan.parameters);
  }
}

template <typename Real>
void FusedBatch<Real>::to_latent(const Real* values, const RowSet<Real>& rows,
                                 Real* latents, Real* log_abs_det, Workers& workers) {
  const auto& k = *flow_.kernels_;
  count_ = rows.count;
  const std::int64_t tiles = tiles_of(count_);
  const std::int64_t own = TileArrays<Real>(k.plan).end;
  const std::int64_t per_thread = own + 3 * k.raw.widest * kTileRows;
  const std::int64_t per_tile = k.kept();
  reserve(count_, workers.threads());
  workers.run(tiles, [&](std::int64_t i, std::int64_t thread) {
    const auto first = i * kTileRows;
    const auto tile =
        gather_tile(k.plan, rows, first, scratch_.data() + thread * per_thread);
    k.table->to_latent(k.raw, values, tile, workspace_.data() + i * per_tile, true);
    scatter(tile.columns, k.plan.dimension, first, tile.rows, latents);
    std::copy_n(tile.log_abs_det, tile.rows, log_abs_det + first);
  });
}

template <typename Real>
void FusedBatch<Real>::gradient(const Real* values, const Real* latent_slopes,
                                Real log_abs_det_slope, Real* gradient,
                                Workers& workers) {
  const auto& k = *flow_.kernels_;
  const std::int64_t p = k.plan.dimension, size = k.plan.parameters;
  const std::int64_t tiles = tiles_of(count_);
  const std::int64_t own = TileArrays<Real>(k.plan).end;
  const std::int64_t per_thread = own + 3 * k.raw.widest * kTileRows;
  const std::int64_t per_tile = k.kept();
  const std::int64_t groups = groups_of(tiles);
  const bool is_plain = adds_in_place(tiles, workers.threads());
  const RowSet<Real> slopes{.data = latent_slopes, .count = count_};
  workers.run(groups, [&](std::int64_t group, std::int64_t thread) {
    Real* start = scratch_.data() + thread * per_thread;
    Real* to = group == 0 || is_plain ? gradient : partial_.data() + (group - 1) * size;
    if (group == 0 || !is_plain) std::fill(to, to + size, Real(0));
    const auto end = (group + 1) * tiles / groups;
    for (auto i = group * tiles / groups; i < end; ++i) {
      const auto first = i * kTileRows;
      const auto rows = std::min(kTileRows, count_ - first);
      const auto tile = TileArrays<Real>(k.plan).at(start, rows);
      gather(slopes.data, p, slopes, first, rows, tile.columns);
      std::fill(tile.log_abs_det, tile.log_abs_det + rows, log_abs_det_slope);
      std::fill(tile.log_abs_det + rows, tile.log_abs_det + kTileRows, Real(0));
      k.table->backward(k.raw, values, tile, workspace_.data() + i * per_tile,
                        start + own, to);
    }
  });
  if (is_plain) return;
  for (std::int64_t group = 1; group < groups; ++group) {
    const Real* from = partial_.data() + (group - 1) * size;
    for (std::int64_t i = 0; i < size; ++i) gradient[i] += from[i];
  }
}

template <typename Real>
void adamax_step(const AdamaxStep<Real>& step) {
  static const auto* const table = kernels_of<Real>(InstructionSet::best);
  table->adamax(step);
}

template <typename Real>
bool all_finite(const Real* numbers, std::int64_t count) {
  static const auto* const table = kernels_of<Real>(InstructionSet::best);
  return table->all_finite(numbers, count);
}

template bool all_finite(const float* numbers, std::int64_t count);
template bool all_finite(const double* numbers, std::int64_t count);
template void adamax_step(const AdamaxStep<float>& step);
template void adamax_step(const AdamaxStep<double>& step);
template class FusedFlow<float>;
template class FusedFlow<double>;
template class FusedBatch<float>;
template class FusedBatch<double>;

}  // namespace kinflow
