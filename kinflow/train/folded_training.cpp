// Folds side by side: set-up, epochs, checkpoints and scores.
#include "kinflow/train/folded_training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/families.h"
#include "kinflow/train/cross_fit.h"

namespace kinflow {
namespace {

// The same options with other first weights and another order of rows in every fold.
std::vector<FitRequest> requests_of_fold(std::vector<FitRequest> requests,
                                         std::int64_t fold) {
  if (fold == 0) return requests;
  for (auto& request : requests) {
    request.train.seed =
        Random(request.train.seed, stream(Purpose::folds, fold)).next();
  }
  return requests;
}

std::string prefix_of(std::size_t fold) { return fmt::format("fold{}.", fold + 1); }

}  // namespace

FoldedTraining::FoldedTraining(std::vector<FitRequest> requests, Logger& logger)
    : requests_(std::move(requests)) {
  const auto& shared = requests_.at(0);
  const auto& data = shared.data;
  const auto device = find_device(shared.device);
  set_threads(shared.threads);
  rows_ = read_fit_rows(data, shared.flow);
  notes_ = rows_.relations.notes;
  const auto make_dependence = [&](const DependenceRequest& dependence, FitRows& rows) {
    return make_fitted_dependence(dependence, shared.train.schedule, rows, device,
                                  logger);
  };
  const auto folds = folds_of(data, rows_);
  if (folds == 1) {
    if (!rows_.has_valid_table) hold_out(data, shared.train.seed, rows_);
    check_training_rows(data, rows_);
    auto dependence = make_dependence(data.dependence, rows_);
    groups_.push_back(
        std::make_unique<TrainingGroup>(requests_, rows_, std::move(dependence)));
  } else {
    check_training_rows(data, rows_);
    plan_ = plan_folds(data, rows_, folds, shared.train.seed);
    auto all = rows_;
    dependence_ = make_dependence(data.dependence, all);
    const auto frame = make_frame(shared, rows_.train, *dependence_.law);
    // Decompositions of parts of a matrix serve this fit alone.
    auto of_part = data.dependence;
    of_part.cache = "none";
    for (std::int64_t fold = 0; fold < plan_.folds; ++fold) {
      auto rows = rows_of_fold(rows_, plan_, fold);
      check_row_count(data, rows);
      auto dependence = make_dependence(of_part, rows);
      groups_.push_back(std::make_unique<TrainingGroup>(
          requests_of_fold(requests_, fold), std::move(rows), std::move(dependence),
          TrainingParts{.frame = frame}));
    }
    rows_.relations = {};
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) add_to_history(group, 0);
}

const FitRequest& FoldedTraining::request(std::int64_t run) const {
  return requests_.at(static_cast<std::size_t>(run));
}

void FoldedTraining::describe(Logger& logger) const {
  const auto& first = *groups_.front();
  const auto& law = folds() == 1 ? *first.dependence().law : *dependence_.law;
  for (const auto& note : notes_) logger.info(note);
  if (!law.description().empty()) logger.info(law.description());
  const auto* families = dynamic_cast<const Families*>(&law);
  if (families != nullptr && families->rows_of_largest_component() == 1) {
    logger.warning("no two training rows are related: lambda cannot be learned");
  }
  logger.info(fmt::format("columns: {}", fmt::join(rows_.columns, ", ")));
  const auto parameters = counted(law.parameter_count(), "dependence parameter");
  if (folds() == 1) {
    logger.info(fmt::format(
        "{}, {}{}, {}", counted(first.rows().train.data.size(0), "training row"),
        counted(first.rows().valid.data.size(0), "validation row"),
        valid_score() == ValidScore::weighted ? " (weighted by what each is worth)"
                                              : "",
        parameters));
  } else {
    logger.info(
        fmt::format("{}, {}", counted(rows_.train.data.size(0), "row"), parameters));
    logger.info(plan_.note);
  }
  if (rows_.dropped_rows > 0) {
    logger.info(counted(rows_.dropped_rows, "row") + " with missing values left out");
  }
  for (const auto& warning : rows_.warnings) logger.warning(warning);
}

bool FoldedTraining::finished() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const auto& group) { return group->trainer().finished(); });
}

void FoldedTraining::add_to_history(std::size_t group, std::size_t first) {
  const auto& own = groups_[group]->trainer().history();
  for (auto i = first; i < own.size(); ++i) {
    history_.push_back(own[i]);
    history_.back().fold = static_cast<std::int64_t>(group);
  }
}

void FoldedTraining::run_epoch() {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    auto& trainer = groups_[i]->trainer();
    if (trainer.finished()) continue;
    const auto known = trainer.history().size();
    trainer.run_epoch();
    add_to_history(i, known);
  }
}

std::int64_t FoldedTraining::epochs_done() const {
  std::int64_t last = 0;
  for (const auto& group : groups_) {
    last = std::max(last, group->trainer().epochs_done());
  }
  return last;
}

std::int64_t FoldedTraining::earliest_end() const {
  std::int64_t last = 0;
  for (const auto& group : groups_) {
    last = std::max(last, group->trainer().earliest_end());
  }
  return last;
}

ValidScore FoldedTraining::valid_score() const {
  const bool is_weighted =
      std::any_of(groups_.begin(), groups_.end(), [](const auto& group) {
        return group->trainer().valid_score() == ValidScore::weighted;
      });
  return is_weighted ? ValidScore::weighted : ValidScore::rows;
}

std::vector<EpochRecord> FoldedTraining::history(std::int64_t run) const {
  std::vector<EpochRecord> own;
  for (std::size_t fold = 0; fold < groups_.size(); ++fold) {
    for (auto record : groups_[fold]->history(run)) {
      record.fold = static_cast<std::int64_t>(fold);
      own.push_back(record);
    }
  }
  std::stable_sort(own.begin(), own.end(),
                   [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
  return own;
}

std::vector<std::string> FoldedTraining::take_warnings() {
  std::vector<std::string> all;
  for (std::size_t fold = 0; fold < groups_.size(); ++fold) {
    for (const auto& warning : groups_[fold]->trainer().take_warnings()) {
      all.push_back(folds() == 1 ? warning
                                 : fmt::format("fold {}, {}", fold + 1, warning));
    }
  }
  return all;
}

std::string FoldedTraining::status_line() const {
  double now = 0, best = 0, typical = 0;
  for (const auto& group : groups_) {
    const auto& trainer = group->trainer();
    const auto replica = trainer.best_replica();
    const auto& history = trainer.history();
    const auto& last = history[history.size() -
                               static_cast<std::size_t>(trainer.replicas() - replica)];
    const auto share = 1 / static_cast<double>(folds());
    now += share * last.valid_nll_nats;
    best += share * trainer.best_valid_nll(replica);
    typical += share * last.typical_parameter;
  }
  const auto& first = groups_.front()->trainer();
  auto line = fmt::format(
      "{} {} (best {}{})", valid_score_label(valid_score()), format_nats(now),
      format_nats(best),
      folds() == 1 ? fmt::format(" at {}", first.best_epoch(first.best_replica()))
                   : fmt::format(", {} folds", folds()));
  const auto name = groups_.front()->dependence().learned.typical_name();
  if (!name.empty()) line += fmt::format(", typical {} {:.3f}", name, typical);
  return line;
}

NamedTensors FoldedTraining::state() {
  if (folds() == 1) return groups_.front()->trainer().state();
  NamedTensors all;
  for (std::size_t fold = 0; fold < groups_.size(); ++fold) {
    for (auto& [name, tensor] : groups_[fold]->trainer().state()) {
      all[prefix_of(fold) + name] = tensor;
    }
  }
  return all;
}

void FoldedTraining::restore(const NamedTensors& state, const std::string& source) {
  for (std::size_t fold = 0; fold < groups_.size(); ++fold) {
    const auto prefix = folds() == 1 ? std::string() : prefix_of(fold);
    NamedTensors own;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = tensor;
    }
    groups_[fold]->trainer().restore(own, source);
  }
  history_.clear();
  for (std::size_t fold = 0; fold < groups_.size(); ++fold) add_to_history(fold, 0);
  std::stable_sort(history_.begin(), history_.end(),
                   [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
}

bool FoldedTraining::has_failed(std::int64_t run) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const auto& group) { return group->has_failed(run); });
}

RunScore FoldedTraining::score(std::int64_t run) const {
  RunScore mean;
  double epochs = 0;
  const double share = 1 / static_cast<double>(folds());
  for (const auto& group : groups_) {
    const auto& trainer = group->trainer();
    const auto replica = group->best_replica(run);
    const auto best = trainer.best_epoch(replica);
    mean.valid_nll_nats += share * trainer.best_valid_nll(replica);
    mean.typical_parameter +=
        share *
        trainer.history()[static_cast<std::size_t>(best * trainer.replicas() + replica)]
            .typical_parameter;
    mean.epochs = std::max(mean.epochs, group->epochs(run));
    epochs += share * static_cast<double>(best);
  }
  mean.best_epoch = std::llround(epochs);
  return mean;
}

double FoldedTraining::best_score() const {
  double lowest = std::numeric_limits<double>::infinity();
  for (std::int64_t run = 0; run < std::ssize(requests_); ++run) {
    if (!has_failed(run)) lowest = std::min(lowest, score(run).valid_nll_nats);
  }
  return lowest;
}

FitResult FoldedTraining::finish(std::int64_t run, const nlohmann::json& record,
                                 Logger& logger, const std::atomic<bool>* stop) {
  if (folds() == 1) return groups_.front()->finish(run, record, logger);
  return finish_cross_fit({.groups = groups_,
                           .run = run,
                           .request = request(run),
                           .rows = rows_,
                           .plan = plan_,
                           .dependence = dependence_,
                           .valid_score = valid_score(),
                           .stop = stop},
                          record, logger);
}

}  // namespace kinflow
