// Runs that are trained side by side on the same rows: from requests to trained models.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/engine/trainer.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/fitted_dependence.h"

namespace kinflow {

/// One text for all requests that can be trained in one group: they have the data, the
/// dependence, the flow, the seed and the number of epochs in common, and differ in
/// what a replica may have of its own.
std::string group_key(const FitRequest& request);

/// How a flow sees rows of a table.
struct FlowFrame {
  Standardization standardization;
  Standardization context_standardization;  ///< empty arrays without context
  double bound = 0;                         ///< of the splines
};

/// What rows are worth where nothing is known of the dependence, [n] on the CPU.
Array usual_worth(const FitRequest& request, const Dependence& law);

/// From training rows whose large blocks count less: weights are what rows are worth
/// where nothing is known of the dependence.
FlowFrame make_frame(const FitRequest& request, const TableRows& train,
                     const Dependence& law);

/// Some of the trainings that requests ask for.
struct TrainingPart {
  std::optional<FlowFrame> frame = {};  ///< not given: from the training rows
  bool decorrelate = false;             ///< whether flows see uncorrelated columns
  bool scores = false;                  ///< whether they see normal scores
  /// Of every run, by their place in plan_replicas(), with schedule `grid` times the
  /// values; empty: all.
  std::vector<std::int64_t> replicas = {};
  std::int64_t first_number = 0;  ///< of the replicas in number_of()
};

/// The replicas of one or more runs, ready to be trained on the same rows. A run has as
/// many as its request asks for, and with schedule `grid` so many for each of its
/// values.
class TrainingGroup {
 public:
  /// @param requests  with defaults, all of one group_key()
  TrainingGroup(std::vector<FitRequest> requests, FitRows rows,
                FittedDependence dependence, const TrainingPart& part = {});

  Trainer& trainer() { return *trainer_; }
  const Trainer& trainer() const { return *trainer_; }
  const FittedDependence& dependence() const { return dependence_; }
  const FitRows& rows() const { return rows_; }
  const Flow& flow() const { return *part_.flow; }
  const FitRequest& request(std::int64_t run) const;

  /// The replicas of a run.
  std::vector<std::int64_t> replicas_of(std::int64_t run) const;
  /// Replicas of a run that diverged too often.
  std::int64_t lost_replicas(std::int64_t run) const;
  /// How often replicas of a run went back to their best weights.
  std::int64_t restarts(std::int64_t run) const;
  /// Epochs until the last of a run's replicas stopped.
  std::int64_t epochs(std::int64_t run) const;
  /// The history of a run's replicas, by their numbers, to its last epoch.
  std::vector<EpochRecord> history(std::int64_t run) const;

  /// Goes back to the best weights of every replica, for the functions below.
  /// @param calibrated  whether they are calibrated by independent validation rows; not
  ///                    given: as they were chosen
  void restore_best(std::optional<bool> calibrated = {});
  /// Of the best weights, on the CPU; nothing where independent rows gave none.
  const std::optional<Calibration>& calibration() const { return calibration_; }
  /// The replicas of all runs, the best by validation first; those that failed are left
  /// out unless all did.
  std::vector<std::int64_t> ranked_replicas() const;
  std::int64_t run_of(std::int64_t replica) const;
  /// A replica's place among those that its run's request asks for.
  std::int64_t number_of(std::int64_t replica) const;
  /// Log-densities in nats of rows by themselves under every replica's best weights,
  /// [R, n] float64.
  Array row_log_densities(const TableRows& rows) const;

  /// Some replicas as members of a model, on the CPU, with the weights that they have
  /// now.
  ModelPart part_of_model(const std::vector<std::int64_t>& replicas) const;

 private:
  /// Normal scores and uncorrelated columns, as the part asks for.
  void reshape(const TrainingPart& part, FlowFrame& frame) const;
  void prepare(const TrainingPart& part, const FlowFrame& frame);
  bool calibrates() const;

  std::vector<FitRequest> requests_;
  std::vector<std::int64_t> first_replica_;  // of each run, and the number of all
  std::vector<std::int64_t> numbers_;        // of the replicas in their runs
  FitRows rows_;
  FittedDependence dependence_;
  ModelPart part_;                          // a member for each replica
  std::optional<Calibration> calibration_;  // of the best weights
  std::unique_ptr<Trainer> trainer_;
};

/// The record of a run that begins: version, request, hashes of the data.
nlohmann::json new_run_record(const FitRequest& request);
/// InputError where a file of the request cannot be read twice or named in a record.
void check_paths(const DataRequest& data);

}  // namespace kinflow
