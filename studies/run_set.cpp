// The methods of a study on one data set.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/engine/cuda/cuda_backend.h"
#include "kinflow/evaluate/recovered_correlations.h"
#include "kinflow/fit/choose_dependence.h"
#include "kinflow/fit/folded_training.h"
#include "studies/study.h"

namespace kinflow {
namespace {

double mean_nll(const Array& log_densities) {
  return -log_densities.mean().item<double>();
}

// @param trainer  a Trainer or a FoldedTraining
template <typename Training>
void train(Training& trainer, const std::atomic<bool>* stop) {
  while (!trainer.finished()) {
    if (stop != nullptr && *stop)
      throw Interrupted("interrupted; the same command goes on");
    trainer.run_epoch();
  }
}

class WarningList final : public Logger {
 public:
  void warning(const std::string& message) override { all.push_back(message); }
  std::vector<std::string> all;
};

// One line for all trainings of a method that are left out, and one for all warnings.
void report(const std::string& place, const std::vector<std::string>& warnings,
            std::int64_t trainings, std::int64_t lost, Logger& logger) {
  if (lost > 0) {
    logger.info(fmt::format("{}: {} of {} trainings diverged for good and {} left out",
                            place, lost, trainings, lost == 1 ? "is" : "are"));
  }
  if (!warnings.empty()) {
    logger.warning(fmt::format("{}: {} of {}; the first: {}", place,
                               counted(warnings.size(), "warning"),
                               counted(trainings, "training"), warnings.front()));
  }
}

const nlohmann::json kNoRecord = {{"request", {}}, {"data_hash", ""}};

// Without a validation table.
Score run_on_one_table(const StudySet& set, const Method& method,
                       const std::atomic<bool>* stop, Logger& logger) {
  const auto start = std::chrono::steady_clock::now();
  WarningList warnings;
  FoldedTraining training(method.runs, set.rows_for(method).rows, warnings);
  train(training, stop);
  for (auto& warning : training.take_warnings()) {
    warnings.all.push_back(std::move(warning));
  }
  const auto result = training.finish(0, kNoRecord, warnings, stop);
  const auto& groups = training.groups();
  report(fmt::format("{}, {}", set.name, method.name), warnings.all,
         groups.replicas_of(0), groups.lost_replicas(0), logger);
  const auto& model = result.model;
  return {
      .method = method.name,
      .trainings = groups.replicas_of(0),
      .seconds = seconds_since(start),
      .valid_nll_nats = result.cross_validation ? result.cross_validation->nll_nats
                                                : result.valid_nll_nats,
      .valid_score = result.valid_score,
      .test_nll_nats = mean_nll(model.row_log_density(set.test.data, set.test.context)),
      .best_epoch = result.best_epoch,
      .parameter = model.dependence.typical_parameter(),
      .learned = correlations_of(model.dependence, set.labels)};
}

// The runs with what the rows choose, where they leave their dependence open, as in a
// fit.
std::vector<FitRequest> settled(const Method& method, StudyRows& ready,
                                Logger& logger) {
  auto runs = method.runs;
  const bool are_blocks_open = leaves_blocks_open(runs.front());
  const auto make = [&](const DependenceRequest& dependence) {
    if (!are_blocks_open) return std::move(ready.dependence);
    ready.rows.relations.rows = ready.rows.train.data.size(0);
    ready.rows.relations.labels = ready.rows.train.labels;
    return make_fitted_dependence(dependence, method.runs.front().train.schedule,
                                  ready.rows, find_device(method.runs.front().device),
                                  logger);
  };
  ready.dependence = choose_dependence(runs, ready.rows.train, make).dependence;
  return runs;
}

void run_method(const StudySet& set, const Method& method,
                const std::atomic<bool>* stop, std::vector<Score>& scores,
                Logger& logger) {
  const auto start = std::chrono::steady_clock::now();
  const auto& shared = method.runs.front();
  const auto take_threads = [&] {
    if (shared.device == "cpu") set_threads(shared.threads);
  };
  take_threads();
  if (method.one_table) {
    scores.push_back(run_on_one_table(set, method, stop, logger));
    return;
  }
  auto ready = set.rows_for(method);
  auto runs = settled(method, ready, logger);
  const auto valid = ready.rows.valid;
  FoldGroups groups;
  groups.all.push_back(std::make_unique<TrainingGroup>(
      std::move(runs), std::move(ready.rows), std::move(ready.dependence)));
  auto& group = *groups.all.front();
  train(group.trainer(), stop);
  take_threads();

  auto& trainer = group.trainer();
  const auto ranked = group.ranked_replicas();
  const auto best = ranked.front();
  WarningList warnings;
  warnings.all = trainer.take_warnings();
  auto learned =
      finish_held_out(groups, group.run_of(best), kNoRecord, warnings).model.dependence;
  report(fmt::format("{}, {}", set.name, method.name), warnings.all, trainer.replicas(),
         trainer.lost_replicas(), logger);
  if (method.keeps_trained) {
    learned = group.dependence().with_parameters(trainer.best_parameters(best));
  }
  const auto densities = group.row_log_densities(set.test);
  Score score{.method = method.name,
              .trainings = trainer.replicas(),
              .seconds = seconds_since(start),
              .valid_nll_nats = trainer.best_valid_nll(best),
              .valid_score = trainer.valid_score(),
              .test_nll_nats = mean_nll(densities[best]),
              .best_epoch = trainer.best_epoch(best),
              .parameter = learned.typical_parameter(),
              .learning_rate = trainer.options_of(best).learning_rate,
              .weight_decay = trainer.options_of(best).weight_decay,
              .learned = correlations_of(learned, set.labels)};
  scores.push_back(score);
  score.learned.clear();
  score.seconds = 0;
  score.is_derived = true;
  score.valid_score = ValidScore::rows;
  if (!method.mixture_name.empty()) {
    const auto members =
        nd::tensor(ranked, nd::kLong)
            .narrow(0, 0, std::min(std::ssize(ranked), method.mixture));
    const auto nll = [&](const Array& of_replicas) {
      return mean_nll(mixture_log_density(of_replicas.index_select(0, members)));
    };
    score.method = method.mixture_name;
    score.valid_nll_nats = nll(group.row_log_densities(valid));
    score.test_nll_nats = nll(densities);
    scores.push_back(score);
  }
  if (!method.calibrated_name.empty()) {
    group.restore_best(/*calibrated=*/true);
    score.method = method.calibrated_name;
    score.valid_nll_nats = mean_nll(group.row_log_densities(valid)[best]);
    score.test_nll_nats = mean_nll(group.row_log_densities(set.test)[best]);
    scores.push_back(score);
  }
}

void check_finite(const std::vector<Score>& scores) {
  for (const auto& score : scores) {
    if (std::isfinite(score.valid_nll_nats) && std::isfinite(score.test_nll_nats)) {
      continue;
    }
    throw NumericalError("the NLL of '" + score.method + "' is not finite");
  }
}

}  // namespace

bool SetScores::has(const std::string& method) const {
  return std::any_of(scores.begin(), scores.end(),
                     [&](const Score& score) { return score.method == method; });
}

const Score& SetScores::score_of(const std::string& method) const {
  for (const auto& score : scores) {
    if (score.method == method) return score;
  }
  throw InputError(fmt::format(
      "{}: expected scores of '{}', found none; remove the folder and start anew", name,
      method));
}

SetScores run_set(const StudySet& set, SetScores known,
                  const std::function<void(const SetScores&)>& keep,
                  const std::atomic<bool>* stop, Logger& logger) {
  known.name = set.name;
  known.floor_nats = set.floor_nats;
  for (const auto& method : set.methods) {
    if (known.has(method.name)) continue;
    try {
      run_method(set, method, stop, known.scores, logger);
      check_finite(known.scores);
    } catch (const NumericalError& error) {
      throw NumericalError(
          fmt::format("{}, {}: {}", set.name, method.name, error.what()));
    }
    // What the training had on a GPU would stay with this thread's queue.
    give_back_device_memory();
    known.is_finished = &method == &set.methods.back();
    keep(known);
  }
  return known;
}

}  // namespace kinflow
