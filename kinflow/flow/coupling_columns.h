// Which columns the coupling layers of a flow map, and which steer.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/flow/flow_options.h"

namespace kinflow {

/// Which columns a coupling layer maps: `order` rearranges the p columns (empty: as
/// they are); then the first p - p/2 columns steer the rest, or the other way round.
struct CouplingColumns {
  std::int64_t dimension = 0;
  std::int64_t context = 0;
  std::vector<std::int64_t> order;
  bool maps_first_part = false;
};

/// How many columns such a layer maps. A single column is always mapped, steered by the
/// context alone.
std::int64_t mapped_columns(const CouplingColumns& columns);

/// The columns of one layer of a flow. Every second layer maps the part that the layer
/// before left unchanged.
CouplingColumns columns_of_layer(const FlowOptions& options, std::int64_t layer);

}  // namespace kinflow
