// Runs that are trained side by side on the same rows: from requests to trained models.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kinflow/train/fit.h"
#include "kinflow/train/fitted_dependence.h"
#include "kinflow/train/trainer.h"

namespace kinflow {

/// One text for all requests that can be trained in one group: they have the data, the
/// dependence, the flow, the seed and the number of epochs in common, and differ in
/// what a replica may have of its own.
std::string group_key(const FitRequest& request);

/// The replicas of one or more runs, ready to be trained. A run has as many as its
/// request asks for, and with schedule `grid` so many for each of its values.
class TrainingGroup {
 public:
  /// Reads and checks all input; InputError before any training.
  /// @param requests  with defaults, all of one group_key()
  TrainingGroup(std::vector<FitRequest> requests, Logger& logger);
  /// The same with rows that are in memory, and their dependence.
  TrainingGroup(std::vector<FitRequest> requests, FitRows rows,
                FittedDependence dependence);

  Trainer& trainer() { return *trainer_; }
  const FittedDependence& dependence() const { return dependence_; }
  const FitRequest& request(std::int64_t run) const;

  /// What the training is about to do, so that a wrong column or a lost row is seen.
  void describe(Logger& logger) const;

  /// Of a run, the one with the best validation NLL.
  std::int64_t best_replica(std::int64_t run) const;
  /// Replicas of a run that diverged too often.
  std::int64_t lost_replicas(std::int64_t run) const;
  /// Whether all of them did.
  bool has_failed(std::int64_t run) const;
  /// How often replicas of a run went back to their best weights.
  std::int64_t restarts(std::int64_t run) const;
  /// Epochs until the last of a run's replicas stopped.
  std::int64_t epochs(std::int64_t run) const;
  /// The history of a run's replicas, numbered from 0, to its last epoch.
  std::vector<EpochRecord> history(std::int64_t run) const;

  /// Goes back to the best weights of every replica, for the functions below.
  /// @param calibrated  whether they are calibrated by independent validation rows; not
  ///                    given: as they were chosen
  void restore_best(std::optional<bool> calibrated = {});
  /// The replicas of a run, the best by validation first; those that failed are left
  /// out unless all did.
  std::vector<std::int64_t> ranked_replicas(std::int64_t run) const;
  /// The same of all runs together.
  std::vector<std::int64_t> ranked_replicas() const;
  std::int64_t run_of(std::int64_t replica) const;
  /// Log-densities in nats of rows by themselves under every replica's best weights,
  /// [R, n] float64.
  at::Tensor row_log_densities(const TableRows& rows) const;

  /// The best replicas of a trained run as the members of a model, with errors and
  /// tests of the best one if asked for.
  /// @param record  of the run, whose request and hashes the model keeps
  FitResult finish(std::int64_t run, const nlohmann::json& record, Logger& logger);

 private:
  void prepare();
  std::vector<std::int64_t> replicas_of(std::int64_t run) const;
  std::vector<std::int64_t> ranked_between(std::int64_t first, std::int64_t end) const;
  bool calibrates() const;
  void check_ensemble(std::int64_t run) const;
  /// The replicas that become members, the best first.
  std::vector<std::int64_t> choose_members(std::int64_t run, Logger& logger) const;
  /// Validation NLL of a model whose members are these replicas.
  double valid_nll(const Model& model, const std::vector<std::int64_t>& members) const;
  at::Tensor final_parameters(const FitRequest& request, const Model& model,
                              const at::Tensor& trained, Logger& logger) const;
  void add_inference(const at::Tensor& parameters, Model& model, Logger& logger) const;

  std::vector<FitRequest> requests_;
  std::vector<std::int64_t> first_replica_;  // of each run, and the number of all
  FitRows rows_;
  FittedDependence dependence_;
  Standardization standardization_;
  Standardization context_standardization_;
  std::vector<std::string> notes_;  // about the relations of rows, for the user
  std::unique_ptr<Flow> flow_;
  std::optional<Calibration> calibration_;  // of the best weights
  std::unique_ptr<Trainer> trainer_;
};

/// The record of a run that begins: version, request, hashes of the data.
nlohmann::json new_run_record(const FitRequest& request);
/// InputError where a file of the request cannot be read twice or named in a record.
void check_paths(const DataRequest& data);

}  // namespace kinflow
