// Small flows of every kind, with random weights, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

inline Array normal(nd::IntArrayRef shape, std::uint64_t seed, double scale = 1) {
  auto values = nd::empty(shape, nd::kDouble);
  Random random(seed);
  auto* out = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) out[i] = scale * random.normal();
  return values;
}

// A flow far from the identity: weights as after a long training.
inline Flow random_flow(const FlowOptions& options, std::vector<std::uint64_t> seeds,
                        nd::ScalarType type, double disturbance = 0.5) {
  Flow flow(options, seeds, type);
  flow.values() += normal(flow.values().sizes(), 99, disturbance).to(type);
  return flow;
}

inline std::vector<FlowOptions> architectures() {
  const std::vector<std::int64_t> hidden = {8, 8};
  return {
      {.dimension = 1, .layers = 2, .hidden = hidden, .bins = 5},
      {.dimension = 1, .context = 2, .layers = 2, .hidden = hidden, .bins = 5},
      {.dimension = 2, .hidden = hidden, .bins = 6, .bound = 3},
      {.dimension = 5, .layers = 4, .hidden = hidden, .bins = 4},
      {.dimension = 5,
       .context = 1,
       .layers = 4,
       .hidden = hidden,
       .permutation = Permutation::random,
       .permutation_seed = 3},
      {.dimension = 3, .layers = 3, .hidden = {}, .bins = 4},
      {.kind = FlowKind::affine, .dimension = 1, .layers = 2, .hidden = hidden},
      {.kind = FlowKind::affine,
       .dimension = 4,
       .context = 2,
       .layers = 3,
       .hidden = hidden},
      {.dimension = 1, .layers = 2, .hidden = hidden, .bins = 5, .latent_map = true},
      {.dimension = 5,
       .context = 1,
       .layers = 3,
       .hidden = hidden,
       .permutation = Permutation::random,
       .permutation_seed = 3,
       .latent_map = true},
      {.kind = FlowKind::affine,
       .dimension = 4,
       .layers = 2,
       .hidden = hidden,
       .latent_map = true},
  };
}

inline Array context_for(const FlowOptions& options, std::int64_t replicas,
                         std::int64_t rows) {
  if (options.context == 0) return {};
  return normal({replicas, rows, options.context}, 17);
}

}  // namespace kinflow
