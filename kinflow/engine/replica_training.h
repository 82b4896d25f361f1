// Whole epochs of replicas that need nothing of each other: rows that are independent
// or in blocks. Every replica is trained by one core, without arrays and allocations.
#pragma once

#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/batch_estimator.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/engine/options.h"
#include "kinflow/engine/training_state.h"

namespace kinflow {

/// What a replica's options mean for the estimators.
EstimatorChoice estimator_choice(const TrainOptions& options,
                                 const Dependence& dependence);

class ReplicaTraining {
 public:
  virtual ~ReplicaTraining() = default;
  /// Trains all active replicas. Gives the mean over the batches of the estimate of
  /// -log p(X) / n without its constants, [R, 1] float64; not a number for others.
  virtual Array run_epoch(const EpochPlan& plan) = 0;
  /// Takes latents [R, n, p] as the remembered ones, where an estimator needs any.
  virtual void reset_memory(const Array& latents) = 0;
  /// The remembered latents, [R, n, p]; undefined where no estimator needs them.
  virtual const Array& memory() const = 0;
};

/// Null where the structure, the device or the engine asks for the step by arrays.
/// `state` and `dependence` must outlive the result.
/// @param data [n, p]  @param context [n, c] or undefined
/// @param options  of each replica
std::unique_ptr<ReplicaTraining> make_replica_training(
    TrainingState& state, const Dependence& dependence, const Array& data,
    const Array& context, const std::vector<TrainOptions>& options, Engine engine);

}  // namespace kinflow
