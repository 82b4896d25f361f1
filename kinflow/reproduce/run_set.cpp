// The methods of a study on one data set.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/reproduce/study.h"
#include "kinflow/train/training_group.h"

namespace kinflow {
namespace {

// The correlation of each label, 0 where none was learned.
std::vector<double> correlations_of(const LearnedDependence& learned,
                                    const std::vector<std::string>& labels) {
  std::map<std::string, double> known;
  for (std::size_t i = 0; i < learned.labels.size(); ++i) {
    known[learned.labels[i]] = learned.parameters.at(i);
  }
  std::vector<double> found;
  for (const auto& label : labels) {
    const auto at = known.find(label);
    found.push_back(at == known.end() ? 0 : at->second);
  }
  return found;
}

double mean_nll(const at::Tensor& log_densities) {
  return -log_densities.mean().item<double>();
}

void train(Trainer& trainer, const std::atomic<bool>* stop) {
  while (!trainer.finished()) {
    if (stop != nullptr && *stop) throw Interrupted("interrupted");
    trainer.run_epoch();
  }
}

void run_method(const StudySet& set, const Method& method,
                const std::atomic<bool>* stop, std::vector<Score>& scores) {
  auto ready = set.rows_for(method);
  TrainingGroup group(method.runs, std::move(ready.rows), std::move(ready.dependence));
  train(group.trainer(), stop);

  std::vector<std::int64_t> ranked;  // replicas of all runs, the best first
  std::map<std::int64_t, std::int64_t> run_of;
  for (std::size_t run = 0; run < method.runs.size(); ++run) {
    for (const auto replica : group.ranked_replicas(static_cast<std::int64_t>(run))) {
      ranked.push_back(replica);
      run_of[replica] = static_cast<std::int64_t>(run);
    }
  }
  const auto& trainer = group.trainer();
  std::stable_sort(ranked.begin(), ranked.end(), [&](auto left, auto right) {
    return trainer.best_valid_nll(left) < trainer.best_valid_nll(right);
  });
  const auto best = ranked.front();
  const auto run = run_of[best];

  Logger silent;
  const nlohmann::json record = {{"request", {}}, {"data_hash", ""}};
  auto learned = group.finish(run, record, silent).model.dependence;
  if (method.keeps_trained) {
    learned = group.dependence().with_parameters(trainer.best_parameters(best));
  }
  const auto densities = group.row_log_densities(set.test);
  Score score{.method = method.name,
              .trainings = trainings_of(method),
              .valid_nll_nats = trainer.best_valid_nll(best),
              .test_nll_nats = mean_nll(densities[best]),
              .best_epoch = trainer.best_epoch(best),
              .parameter = learned.typical_parameter(),
              .learning_rate = trainer.options_of(best).learning_rate,
              .weight_decay = trainer.options_of(best).weight_decay,
              .learned = correlations_of(learned, set.labels)};
  scores.push_back(score);
  score.learned.clear();
  if (!method.mixture_name.empty()) {
    ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(method.mixture)));
    const auto members = densities.index_select(0, at::tensor(ranked, at::kLong));
    score.method = method.mixture_name;
    score.test_nll_nats = mean_nll(mixture_log_density(members));
    scores.push_back(score);
  }
  if (!method.calibrated_name.empty()) {
    group.restore_best(/*calibrated=*/true);
    score.method = method.calibrated_name;
    score.test_nll_nats = mean_nll(group.row_log_densities(set.test)[best]);
    scores.push_back(score);
  }
}

}  // namespace

std::int64_t trainings_of(const Method& method) {
  std::int64_t count = 0;
  for (const auto& run : method.runs) {
    const bool is_grid = run.train.schedule == Schedule::grid;
    count += run.replicas.count *
             (is_grid ? static_cast<std::int64_t>(run.train.grid.size()) : 1);
  }
  return count;
}

const Score* SetScores::find(const std::string& method) const {
  const auto found =
      std::find_if(scores.begin(), scores.end(),
                   [&](const Score& score) { return score.method == method; });
  return found == scores.end() ? nullptr : &*found;
}

SetScores run_set(const StudySet& set, const std::atomic<bool>* stop) {
  const auto start = std::chrono::steady_clock::now();
  SetScores result{.name = set.name, .seconds = 0, .scores = {}};
  for (const auto& method : set.methods) run_method(set, method, stop, result.scores);
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace kinflow
