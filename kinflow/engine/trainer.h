// The training loop, epoch by epoch, for R replicas of a flow on one data set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/engine/batch_pass.h"
#include "kinflow/engine/options.h"
#include "kinflow/engine/repeated_work.h"
#include "kinflow/engine/replica_training.h"
#include "kinflow/engine/training_state.h"
#include "kinflow/engine/valid_score.h"
#include "kinflow/flow/calibration.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

/// Standardised rows in the flow's type and on its device.
struct TrainingData {
  Array train;               ///< [n, p]
  Array train_context = {};  ///< [n, c] or undefined
  Array valid;               ///< [m, p]
  Array valid_context = {};  ///< [m, c] or undefined
  /// The law of validation rows that depend on each other: each counts in the score by
  /// what it is worth, C^-1 1. Null: all count alike.
  const Dependence* valid_law = nullptr;
  /// Interpreted parameters [R, q] times this are those of `valid_law`.
  Array valid_weights = {};
  /// [q, 1]: interpreted parameters [R, q] times this are the typical ones, which the
  /// history shows. Undefined: equal weights.
  Array typical_weights = {};
  /// log |det| of the standardisation, so that NLLs are in the data's own units: the
  /// mean over the training rows, and that of each validation row, [m] float64, or
  /// undefined for 0.
  double train_log_abs_det = 0;
  Array valid_log_abs_det = {};
  /// Whether validation rows are scored with the latents that they calibrate. Not with
  /// `valid_law`.
  bool calibrates = false;
};

/// What one replica did in one epoch.
struct EpochRecord {
  std::int64_t epoch = 0;  ///< from 1; 0 is the state before training
  std::int64_t replica = 0;
  std::int64_t fold = 0;  ///< that the training holds out, from 0
  double train_nll_nats =
      0;  ///< mini-batch estimate of -log p(X) / n, dependence included
  double valid_nll_nats = 0;  ///< of the trainer's valid_score()
  double learning_rate = 0;
  double typical_parameter = 0;  ///< of the dependence; 0 without parameters
};

/// Trains all replicas of a flow; each has its own weights, dependence parameters,
/// learning rate and the like, all see the rows in the same order. A replica's numbers
/// do not depend on the others. One that runs out of patience stays as it is.
///
/// Dependence parameters whose every new value is costly take kCostlySteps steps an
/// epoch, others one with every batch.
///
/// A step whose gradient is not finite is skipped and counted. A replica that diverges
/// (its validation NLL is not finite, or far above where it began) goes back to its
/// best weights with a tenth of the learning rate, which is counted; after
/// kMaximumRestarts of these it is lost, and where all are the whole training stops
/// with NumericalError.
class Trainer {
 public:
  static constexpr std::int64_t kMaximumRestarts = 5;
  static constexpr std::int64_t kCostlySteps = 4;

  /// `flow` and `dependence` must outlive the trainer.
  /// @param options  of each replica; they have the epochs, the batch size, the
  ///                 patience, the stages and the seed in common
  /// @param start    [R, k] float64, dependence parameters at the beginning
  Trainer(Flow& flow, const Dependence& dependence, TrainingData data,
          std::vector<TrainOptions> options, const Array& start,
          Engine engine = Engine::fused);
  /// The same options for all replicas.
  Trainer(Flow& flow, const Dependence& dependence, TrainingData data,
          const TrainOptions& options, const Array& start,
          Engine engine = Engine::fused);

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// True once all epochs are done or every replica ran out of patience.
  bool finished() const;
  std::int64_t epochs_done() const { return epoch_; }
  /// Whether epochs run on the process's own team, with no large arrays but between
  /// them.
  bool uses_own_team() const {
    return replica_training_ != nullptr || estimator_->uses_own_team();
  }
  /// What validation NLLs of this training are.
  ValidScore valid_score() const {
    return data_.valid_law == nullptr ? ValidScore::rows : ValidScore::weighted;
  }
  /// Whether a replica diverged too often to go on.
  bool has_failed(std::int64_t replica) const;
  /// Replicas that did.
  std::int64_t lost_replicas() const;
  /// How often a replica went back to its best weights.
  std::int64_t restarts(std::int64_t replica) const;
  /// The epoch after which the training ends unless a replica improves.
  std::int64_t earliest_end() const;
  /// Epochs after which a replica stopped; all that are done where it has not.
  std::int64_t epochs_of(std::int64_t replica) const;
  std::int64_t replicas() const { return flow_.replicas(); }
  const TrainOptions& options_of(std::int64_t replica) const {
    return options_.at(static_cast<std::size_t>(replica));
  }
  /// Trains one epoch and scores the validation rows.
  void run_epoch();
  /// One record per replica and epoch, oldest first; epoch 0 included.
  const std::vector<EpochRecord>& history() const { return history_; }

  /// What a user should know since the last call; restarts are no cause.
  std::vector<std::string> take_warnings();

  /// The replica with the best validation NLL of all.
  std::int64_t best_replica() const;
  /// Puts the best weights of every replica back into the flow.
  void restore_best();
  /// The calibration by the validation rows, which must be independent, of the best
  /// weights, which restore_best() has put into the flow.
  Calibration calibration() const;
  /// What validation rows are worth under parameters [R, k] of the training rows' law,
  /// [R, m] float64; undefined where all count alike.
  Array valid_row_weights(const Array& parameters) const;
  /// Validation NLL, its epoch and the dependence parameters [k] at the best weights.
  double best_valid_nll(std::int64_t replica) const;
  std::int64_t best_epoch(std::int64_t replica) const;
  Array best_parameters(std::int64_t replica) const;
  /// Of all replicas, and of one.
  std::int64_t skipped_steps() const;
  std::int64_t skipped_steps(std::int64_t replica) const;

  /// Everything that the next epochs depend on, for checkpoints, and its return. A
  /// restored trainer goes on to exactly the numbers of an undisturbed one.
  NamedTensors state();
  /// @param source  stands for the file in messages of an InputError
  void restore(const NamedTensors& state, const std::string& source = "checkpoint");

 private:
  /// Numbers kept of an epoch and a replica.
  static constexpr std::int64_t kHistoryColumns = 4;

  const TrainOptions& shared_options() const { return options_.front(); }
  double rate_factor(std::int64_t batch) const;
  /// Of the epoch's first batch, [R, 1].
  Array learning_rate() const;
  EpochPlan plan_epoch() const;
  Array run_steps(const EpochPlan& plan);
  /// The steps of an epoch as `epoch_io_` say. It queues the same work each time.
  void take_steps();
  /// @param rate  [R, 1] float64  @param active  [R, 1] bool
  /// @param moves_dependence  whether the dependence parameters take a step too
  Array step(const Array& rows, const Array& rate, const Array& active,
             bool moves_dependence);
  void step_dependence(const Array& parameters, const Array& gradient,
                       const Array& rate, const Array& active);
  void parameter_stage();
  /// Of some replicas, or of none where a search fails.
  void move_to_most_likely(const Array& latents,
                           const std::vector<std::int64_t>& searched, double prior);
  void move_or_warn(const Array& latents, std::int64_t replica, double prior);
  /// Remembers the latents of today of the replicas where `which` [R, 1] bool holds.
  void reset_memory(const Array& which);
  /// 1' C^-1 1 of the training rows under parameters [R, k]: as many independent rows
  /// as they are worth, [R] float64.
  Array training_information(const Array& parameters) const;
  /// Log-densities of the validation rows, [R, m] float64, each by itself, in the units
  /// of the standardised data.
  Array valid_row_densities() const;
  Array valid_nll() const;
  Array is_stopped() const;
  void finish_epoch(const Array& train_nll, const Array& rate);
  void recover_diverged(const Array& nll);
  Array typical_parameters() const;
  void add_to_history(const Array& train_nll, const Array& nll, const Array& rate);
  Array all_train_latents() const;
  /// Null where no estimator needs them.
  const Array* remembered_latents() const;
  void visit_state(const std::function<void(const std::string&, Array&)>& visit);

  Flow& flow_;
  const Dependence& dependence_;
  TrainingData data_;
  std::vector<TrainOptions> options_;  // of each replica
  std::vector<std::int64_t> batch_bounds_;
  TrainingState state_;
  std::unique_ptr<ReplicaTraining> replica_training_;  // null: steps by arrays,
  std::unique_ptr<BatchPass> pass_;                    // with these two
  std::unique_ptr<BatchEstimator> estimator_;
  // What steps by arrays are told of an epoch, and what they say, always in the same
  // place.
  struct {
    Array order;      // [n] int64
    Array rates;      // [batches, R, 1] float64
    Array active;     // [R, 1] bool
    Array train_nll;  // [R, 1] float64
  } epoch_io_;
  std::unique_ptr<RepeatedWork> recorded_steps_;  // null: taken one by one

  // Options of the replicas, [R, 1] float64 or bool.
  Array learning_rates_, dependence_rates_, priors_;
  Array learns_parameters_;  // by steps or in stages
  Array moves_parameters_;
  Array weight_decays_;  // of each weight, [R, P]
  // What any of them needs, known without asking a GPU.
  bool has_memory_ = false, has_moving_parameters_ = false;
  bool uses_kernels_ = false;  // in steps by arrays, where the CPU has some

  std::int64_t epoch_ = 0;
  Array log_det_;          // [R] of C, for the history; see kLogDetInterval
  Array rate_factor_;      // [R, 1] lowered by restarts
  Array restarts_;         // [R, 1] int64
  Array initial_nll_;      // [R, 1] float64
  Array best_nll_;         // [R, 1] float64
  Array best_epoch_;       // [R, 1] int64
  Array best_values_;      // [R, P]
  Array best_parameters_;  // [R, k]
  std::vector<EpochRecord> history_;
  std::vector<std::string> warnings_;
};

}  // namespace kinflow
