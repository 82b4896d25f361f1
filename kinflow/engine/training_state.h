// What the steps of a training change, and what they are told.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/adamax.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

/// Weights, dependence parameters and moments of R replicas.
struct TrainingState {
  TrainingState(Flow& trained, Array start)
      : flow(trained),
        flow_optimizer(trained.values()),
        unconstrained(std::move(start)),
        dependence_optimizer(unconstrained) {}

  Flow& flow;
  Adamax flow_optimizer;
  Array unconstrained;  ///< [R, k] float64, dependence parameters
  Adamax dependence_optimizer;
  Array skipped;  ///< [R, 1] int64, steps whose gradient was not finite
};

/// One epoch.
struct EpochPlan {
  std::uint64_t seed = 0;            ///< of the order of rows
  std::int64_t epoch = 0;            ///< from 0
  std::vector<std::int64_t> bounds;  ///< of the batches in the order of rows
  std::vector<double> rate_factors;  ///< of each batch, for all replicas
  std::vector<double> rates;         ///< [R], learning rates before these factors
  std::vector<std::uint8_t> active;  ///< [R], replicas that have not stopped

  std::int64_t batches() const { return static_cast<std::int64_t>(bounds.size()) - 1; }
  /// [n], the rows as the batches take them.
  std::vector<std::int64_t> order() const {
    return Random(seed, stream(Purpose::row_order, epoch)).permutation(bounds.back());
  }
};

/// Batches for which the history takes one value of log det C: for some structures it
/// costs as much as all rows.
inline constexpr std::int64_t kLogDetInterval = 16;

}  // namespace kinflow
