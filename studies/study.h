// Methods compared over many data sets: what is trained, what is scored, and how a
// study that was stopped goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/fitted_dependence.h"

namespace kinflow {

/// A way of training: the runs among which validation chooses, all of one group_key().
struct Method {
  std::string name;
  std::vector<FitRequest> runs;  ///< with defaults
  /// There is no validation table: parts of the training rows are held out.
  bool one_table = false;
  /// The dependence parameters are those of the chosen epoch, instead of the most
  /// likely ones given the flow.
  bool keeps_trained = false;
  /// Also scores, as a method of this name, the mixture of so many best replicas.
  std::string mixture_name = {};
  std::int64_t mixture = 0;
  /// Also scores, as a method of this name, the chosen flow with its latents calibrated
  /// by the validation rows.
  std::string calibrated_name = {};
};

/// Rows of a method, ready to be trained.
struct StudyRows {
  FitRows rows;                 ///< of one table as read_fit_rows() gives them
  FittedDependence dependence;  ///< not of one table
};

struct StudySet {
  std::string name;  ///< also of its file, so without odd characters
  /// Rows for the schedule of a method.
  std::function<StudyRows(const Method&)> rows_for;
  TableRows test;
  std::vector<Method> methods;
  /// Blocks whose learned correlations are kept; empty where there are none.
  std::vector<std::string> labels = {};
  /// p/2 log(1 + 1/kappa), which a model loses that knows all but where the population
  /// lies, of which the training rows say as much as kappa independent ones; 0 where it
  /// is not computed.
  double floor_nats = 0;
};

/// What one method came to on one data set.
struct Score {
  std::string method;
  std::int64_t trainings = 0;  ///< that it needs
  double seconds = 0;          ///< from making the rows to scoring them
  bool is_derived = false;     ///< from the trainings of another method
  double valid_nll_nats = 0;
  ValidScore valid_score = ValidScore::rows;  ///< what that is
  double test_nll_nats = 0;                   ///< of single rows
  std::int64_t best_epoch = 0;
  double parameter = 0;  ///< typical one of the chosen flow
  // Of the chosen run:
  double learning_rate = 0;
  double weight_decay = 0;
  /// Learned correlations beside StudySet::labels, where there are any; 0 in a
  /// baseline.
  std::vector<double> learned = {};
};

struct SetScores {
  std::string name;
  bool is_finished = false;
  std::vector<Score> scores;
  double floor_nats = 0;  ///< StudySet::floor_nats

  bool has(const std::string& method) const;
  /// InputError where there is no such method.
  const Score& score_of(const std::string& method) const;
};

/// Trains the methods on a data set that `known` has no score of, and scores its test
/// rows with what validation chooses. Tells `keep` after each. Interrupted where `stop`
/// becomes true between two epochs; NumericalError, with the set and the method, where
/// no training of a method is sound. Warnings of a method's trainings come as one.
SetScores run_set(const StudySet& set, SetScores known,
                  const std::function<void(const SetScores&)>& keep,
                  const std::atomic<bool>* stop, Logger& logger);

struct StudyPlace {
  std::string directory;
  /// What decides the results; a folder holds one study.
  nlohmann::json description;
  bool overwrite = false;  ///< begin anew
  std::string device = "cpu";
  std::int64_t threads = 1;
  const std::atomic<bool>* stop = nullptr;
};

/// A data set that is made when its turn comes.
struct PlannedSet {
  std::string name;
  std::function<StudySet()> make;  ///< called in the order of the plan, by one thread
};

struct StudyResult {
  std::vector<SetScores> sets;  ///< in the order of the plan
  double seconds = 0;           ///< of all calls that worked on the folder
};

/// Runs all sets, several at once on a GPU, and keeps the scores of finished methods in
/// the folder (sets/NAME.json). The same call on a folder that was left unfinished goes
/// on. InputError where the folder holds another study, or one of another kinflow.
StudyResult run_study(const std::vector<PlannedSet>& plan, const StudyPlace& place,
                      Logger& logger);

}  // namespace kinflow
