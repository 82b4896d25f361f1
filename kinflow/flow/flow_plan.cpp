// Columns and offsets of every layer, in the order of Flow's buffer.
#include "kinflow/flow/flow_plan.h"

#include <numeric>

#include "kinflow/flow/coupling_columns.h"
#include "kinflow/flow/spline_constants.h"

namespace kinflow {
namespace {

struct Parts {
  std::vector<std::int64_t> unchanged, mapped;
};

Parts parts_of(const CouplingColumns& columns) {
  auto order = columns.order;
  if (order.empty()) {
    order.resize(static_cast<std::size_t>(columns.dimension));
    std::iota(order.begin(), order.end(), 0);
  }
  const auto mapped = mapped_columns(columns);
  const auto cut =
      order.begin() + (columns.maps_first_part ? mapped : columns.dimension - mapped);
  Parts parts{{order.begin(), cut}, {cut, order.end()}};
  if (columns.maps_first_part) std::swap(parts.unchanged, parts.mapped);
  return parts;
}

}  // namespace

double parameter_count(const FlowOptions& options) {
  const bool spline = options.kind == FlowKind::spline;
  const double per_column =
      spline ? static_cast<double>(spline_parameter_count(options.bins)) : 2;
  double total = 0;
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const auto mapped =
        static_cast<double>(mapped_columns(columns_of_layer(options, layer)));
    const auto inputs =
        static_cast<double>(options.dimension + options.context) - mapped;
    double width = inputs;
    if (inputs > 0) {
      for (const auto next : options.hidden) {
        total += (width + 1) * static_cast<double>(next);
        width = static_cast<double>(next);
      }
    }
    total += (width + 1) * mapped * per_column;
    if (!spline) total += 2 * static_cast<double>(options.dimension);
  }
  if (options.latent_map) {
    total +=
        static_cast<double>(options.dimension) * static_cast<double>(options.dimension);
  }
  return total;
}

FlowPlan make_plan(const FlowOptions& options) {
  const bool spline = options.kind == FlowKind::spline;
  FlowPlan plan{
      .kind = options.kind,
      .dimension = options.dimension,
      .context = options.context,
      .bins = spline ? options.bins : 0,
      .bound = options.bound,
      .parameters_per_column = spline ? spline_parameter_count(options.bins) : 2,
      .parameters = 0,
      .couplings = {}};
  const auto take = [&plan](std::int64_t count) {
    plan.parameters += count;
    return plan.parameters - count;
  };
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    auto parts = parts_of(columns_of_layer(options, layer));
    CouplingPlan coupling{.unchanged = std::move(parts.unchanged),
                          .mapped = std::move(parts.mapped),
                          .linears = {}};
    auto width = static_cast<std::int64_t>(coupling.unchanged.size()) + options.context;
    const bool is_constant = width == 0;
    auto widths = is_constant ? std::vector<std::int64_t>() : options.hidden;
    widths.push_back(static_cast<std::int64_t>(coupling.mapped.size()) *
                     plan.parameters_per_column);
    for (const auto next : widths) {
      LinearPlan linear{.inputs = width, .outputs = next};
      linear.weight = take(width * next);
      linear.bias = take(next);
      coupling.linears.push_back(linear);
      width = next;
    }
    if (!spline) {
      coupling.log_scale = take(options.dimension);
      coupling.shift = take(options.dimension);
    }
    plan.couplings.push_back(std::move(coupling));
  }
  if (options.latent_map) {
    plan.latent_map = take(options.dimension * options.dimension);
  }
  return plan;
}

}  // namespace kinflow
