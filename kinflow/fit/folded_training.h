// A training with its validation: on rows with a validation table or one part held out,
// or cross-fitted, which is one training for each fold.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/device_stream.h"
#include "kinflow/fit/choose_dependence.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/fold_groups.h"
#include "kinflow/fit/fold_plan.h"

namespace kinflow {

/// How a run did: means over the folds of their best replicas.
struct RunScore {
  double valid_nll_nats = 0;
  std::int64_t best_epoch = 0;
  std::int64_t epochs = 0;
  double typical_parameter = 0;
};

/// The replicas of one or more runs, in every fold the same ones on other rows. Groups
/// of replicas share a GPU, or the cores where they train on the process's own team;
/// others take their epochs in turn, each on all cores.
class FoldedTraining {
 public:
  /// Reads and checks all input; InputError before any training.
  /// @param requests  with defaults, all of one group_key()
  FoldedTraining(std::vector<FitRequest> requests, Logger& logger);
  /// The same for rows in memory.
  /// @param rows  as read_fit_rows() gives them
  FoldedTraining(std::vector<FitRequest> requests, FitRows rows, Logger& logger);

  const FitRequest& request(std::int64_t run) const;
  /// The same with what it left open for the rows to choose.
  const FitRequest& given_request(std::int64_t run) const;
  std::int64_t folds() const { return static_cast<std::int64_t>(groups_.folds()); }
  const FoldGroups& groups() const { return groups_; }
  /// What the training is about to do, so that a wrong column or a lost row is seen.
  void describe(Logger& logger) const;
  /// On an option that the columns ask for, or empty.
  const std::string& hint() const { return rows_.hint; }

  /// True once no fold has an epoch to go.
  bool finished() const;
  /// One epoch of every fold that has not finished.
  void run_epoch();
  std::int64_t epochs_done() const;
  /// The epoch after which the training ends unless a replica improves.
  std::int64_t earliest_end() const;
  ValidScore valid_score() const;
  /// Of all folds, in the order of epochs, folds and replicas.
  const std::vector<EpochRecord>& history() const { return history_; }
  std::vector<EpochRecord> history(std::int64_t run) const;
  std::vector<std::string> take_warnings();
  /// One line on the best replicas so far.
  std::string status_line() const;

  /// Everything that the next epochs depend on, and its return, as in Trainer.
  NamedTensors state();
  void restore(const NamedTensors& state, const std::string& source = "checkpoint");

  /// Whether all replicas of a run diverged, in any fold.
  bool has_failed(std::int64_t run) const;
  RunScore score(std::int64_t run) const;
  /// The lowest score of all runs.
  double best_score() const;

  /// The model of a trained run. Of several folds it is the mixture of the best flows
  /// of each, with a flow that is trained here on all rows where one map is needed.
  /// @param record  of the run, whose request and hashes the model keeps
  /// @param stop    becomes true when the user wants to stop: Interrupted is thrown
  FitResult finish(std::int64_t run, const nlohmann::json& record, Logger& logger,
                   const std::atomic<bool>* stop = nullptr);

 private:
  /// add_shared_parts() of a finished run, unless its request leaves inference out.
  void add_shared_parts_of(std::int64_t run, FitResult& result, Logger& logger) const;
  void add_to_history(std::size_t group, std::size_t first);
  /// Calls train(i) for the numbers of some groups, for several at the same time where
  /// these can share the machine.
  template <typename Train>
  void side_by_side(const std::vector<std::size_t>& groups, const Train& train) const;
  /// What the names of a group's arrays begin with in state().
  std::string prefix_of(std::size_t group) const;
  /// The best flow of a fold, of all runs.
  TrainedFlow best_flow(std::size_t fold) const;
  void check_ensemble(std::int64_t run) const;

  std::vector<FitRequest> given_, requests_;
  FitRows rows_;  // of several folds: all of them, none held out, without relations
  FoldPlan plan_;
  FittedDependence dependence_;     // of several folds: of all rows
  DependenceChoice choice_;         // nothing where the request left nothing open
  std::vector<std::string> notes_;  // about the relations of rows, for the user
  FoldGroups groups_;
  // Of a GPU, for groups at the same time: group i takes queue i modulo their number.
  std::vector<std::optional<DeviceQueue>> queues_;
  std::vector<EpochRecord> history_;
};

}  // namespace kinflow
