// Columns of coupling layers.
#include "kinflow/flow/coupling_columns.h"

#include "kinflow/core/random.h"

namespace kinflow {

std::int64_t mapped_columns(const CouplingColumns& columns) {
  const std::int64_t second = columns.dimension / 2;
  if (columns.dimension == 1) return 1;
  return columns.maps_first_part ? columns.dimension - second : second;
}

CouplingColumns columns_of_layer(const FlowOptions& options, std::int64_t layer) {
  CouplingColumns columns{.dimension = options.dimension,
                          .context = options.context,
                          .order = {},
                          .maps_first_part = layer % 2 == 1};
  if (options.permutation == Permutation::random) {
    Random random(options.permutation_seed, stream(Purpose::columns, layer / 2));
    columns.order = random.permutation(options.dimension);
  }
  return columns;
}

}  // namespace kinflow
