// A whole fit: data, training with checkpoints, and the finished run folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "kinflow/core/log.h"
#include "kinflow/engine/names.h"
#include "kinflow/engine/options.h"
#include "kinflow/engine/valid_score.h"
#include "kinflow/fit/cross_validation.h"
#include "kinflow/fit/fit_data.h"
#include "kinflow/flow/flow.h"
#include "kinflow/model/model.h"

namespace kinflow {

/// Whether flows see normal scores of the standardised columns: see NormalScores.
enum class ScoresUse {
  no,
  yes,
  choose  ///< some replicas do, and validation chooses among all
};

/// Everything that decides the result of a fit. For independent rows the schedule is
/// `baseline`.
struct FitRequest {
  DataRequest data;
  FlowOptions flow;  ///< dimension and context are taken from the data
  /// Without a validation table the replicas take flows of several kinds in turn, in
  /// place of `flow`: see flow_choices().
  bool vary_flow = false;
  std::optional<double> bound;  ///< of the splines; not given: from the data
  /// Whether flows end in a linear map where latents have dependences of their own.
  bool latent_map = true;
  bool float64 = false;
  bool inference = true;    ///< standard errors and tests at the end
  bool standardize = true;  ///< false: the flow sees the data as they are
  ScoresUse normal_scores = ScoresUse::no;
  /// Independent validation rows also place the latents; see Calibration.
  bool calibrate = true;
  /// Members of the model where rows are held out once or come from a table: the best
  /// replicas of the run by validation. At most as many as are trained.
  std::int64_t ensemble = 1;
  /// Members of the model from each of several folds.
  std::int64_t per_fold = 2;
  /// Whether flows that are trained as if rows were independent may join the members
  /// for the density of single rows, as held-out rows choose.
  bool row_flows = true;
  std::string device = "cpu";
  std::int64_t threads = 1;
  SharedTrainOptions train;
  ReplicaOptions replicas;
};

const Names<HoldOutBy>& split_by_names();
const Names<ScoresUse>& scores_use_names();
nlohmann::json to_json(const FitRequest& request);
/// Reads what to_json wrote; `source` stands for the file in messages.
FitRequest fit_request_from(const nlohmann::json& json, const std::string& source);

/// Defaults for a dependence and an estimator, its own where none is given: memory
/// where a row depends on few others or a matrix is only multiplied, else hybrid.
SharedTrainOptions default_train_options(const DependenceRequest& dependence,
                                         std::optional<Estimator> estimator = {});

/// The options of each replica of a request with defaults, for one start or grid, and
/// the seeds of their weights. The first has the request's own seed.
struct ReplicaPlan {
  TrainOptions options;
  std::uint64_t weights_seed = 0;
  std::size_t kind = 0;  ///< among the flows that vary
};
std::vector<ReplicaPlan> plan_replicas(const FitRequest& request);

/// The request with a schedule that fits its data, a grid and a way to split. A second
/// call changes nothing. Throws InputError for choices that exclude each other and for
/// values outside their ranges.
FitRequest with_defaults(FitRequest request);

struct FitResult {
  Model model;
  std::int64_t epochs = 0;
  /// Of the best member; of several folds that of the flow trained on all rows.
  std::int64_t best_epoch = 0;
  /// Of the mixture of all members; of several folds the mean of their best members.
  double valid_nll_nats = 0;
  ValidScore valid_score = ValidScore::rows;             ///< what that is
  std::optional<CrossValidation> cross_validation = {};  ///< of several folds
  double seconds = 0;                                    ///< of this call
};

/// "valid NLL 1.3383 nats at epoch 71 of 100", under the name of its score, or
/// "cross-validated NLL 1.3383 +- 0.0121 nats (5 folds)".
std::string score_line(const FitResult& result);

struct FitPlace {
  std::string directory;  ///< run folder; made here, must not hold a run unless resumed
  bool resume = false;    ///< go on from the checkpoint of the folder
  bool overwrite = false;         ///< in place of a run that the folder holds
  double checkpoint_seconds = 5;  ///< time between checkpoints
  bool gives_hints = true;        ///< on options that the columns ask for
  /// Becomes true when the user wants to stop: a checkpoint is written after the epoch,
  /// and Interrupted is thrown.
  const std::atomic<bool>* stop = nullptr;
};

/// Fits a model and leaves run.json, metrics.csv and model.safetensors in the run
/// folder. All input is read and checked before the folder is made. A run that was
/// killed goes on with `resume` and ends in the same numbers.
FitResult fit(const FitRequest& request, const FitPlace& place, Logger& logger);

/// The request of a run folder that is to be resumed.
FitRequest read_run_request(const std::string& directory);
/// True where a run folder holds a finished run, with its model.
bool run_is_finished(const std::string& directory);

}  // namespace kinflow
