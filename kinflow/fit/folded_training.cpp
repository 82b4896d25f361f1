// Folds side by side: set-up, epochs, checkpoints and scores.
#include "kinflow/fit/folded_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/core/workers.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/fit/cross_fit.h"
#include "kinflow/fit/flow_choices.h"
#include "kinflow/fit/row_flows.h"
#include "kinflow/fit/shared_parts.h"

namespace kinflow {
namespace {

// Groups that a GPU trains at the same time: products of arrays take workspaces of 32
// MiB for each queue.
constexpr std::size_t kMostQueues = 8;

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

// The replicas of every run that have a kind of flow; empty where there is one kind.
std::vector<std::int64_t> replicas_of_kind(const FitRequest& request,
                                           std::size_t kind) {
  std::vector<std::int64_t> own;
  if (flow_choices(request).size() == 1) return own;
  const auto plans = plan_replicas(request);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].kind == kind) own.push_back(static_cast<std::int64_t>(i));
  }
  return own;
}

// With the flow of a kind in place of flows that vary.
std::vector<FitRequest> requests_of_kind(std::vector<FitRequest> requests,
                                         const FlowChoice& choice) {
  for (auto& request : requests) request.flow = choice.flow;
  return requests;
}

// Epoch by epoch; what was in order stays so.
void sort_by_epochs(std::vector<EpochRecord>& records) {
  std::stable_sort(records.begin(), records.end(),
                   [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
}

}  // namespace

FoldedTraining::FoldedTraining(std::vector<FitRequest> requests, Logger& logger)
    : FoldedTraining(requests, read_fit_rows(requests.at(0).data, requests.at(0).flow),
                     logger) {}

FoldedTraining::FoldedTraining(std::vector<FitRequest> requests, FitRows given,
                               Logger& logger)
    : given_(std::move(requests)), requests_(given_), rows_(std::move(given)) {
  const auto& shared = requests_.at(0);
  const auto& data = shared.data;
  const auto device = find_device(shared.device);
  notes_ = rows_.relations.notes;
  const auto make_dependence = [&](const DependenceRequest& dependence, FitRows& rows) {
    // Groups take threads away from arrays.
    set_threads(shared.threads);
    return make_fitted_dependence(dependence, shared.train.schedule, rows, device,
                                  logger);
  };
  groups_.kinds = flow_choices(shared).size();
  // The dependence of rows as the request says it, or as they choose.
  const auto make_chosen = [&](FitRows& rows) {
    set_threads(shared.threads);
    auto chosen = choose_dependence(
        requests_, rows.train,
        [&](const DependenceRequest& own) { return make_dependence(own, rows); });
    choice_ = std::move(chosen.choice);
    return std::move(chosen.dependence);
  };
  std::optional<FlowFrame> frame;  // of several folds
  const auto add_groups = [&](const std::vector<FitRequest>& runs, const FitRows& rows,
                              const FittedDependence& dependence,
                              std::int64_t first_number) {
    const auto choices = flow_choices(runs.at(0));
    for (std::size_t kind = 0; kind < choices.size(); ++kind) {
      groups_.all.push_back(std::make_unique<TrainingGroup>(
          requests_of_kind(runs, choices[kind]), rows, dependence,
          TrainingPart{.frame = frame,
                       .decorrelate = choices[kind].decorrelate,
                       .scores = choices[kind].scores,
                       .replicas = replicas_of_kind(runs.at(0), kind),
                       .first_number = first_number}));
    }
  };
  const auto folds = folds_of(data, rows_);
  if (folds == 1) {
    if (!rows_.has_valid_table) hold_out(data, shared.train.seed, rows_);
    check_training_rows(data, rows_);
    const auto dependence = make_chosen(rows_);
    add_groups(requests_, rows_, dependence, 0);
  } else {
    check_training_rows(data, rows_);
    plan_ = plan_folds(data, rows_, folds, shared.train.seed);
    auto all = rows_;
    dependence_ = make_chosen(all);
    frame = make_frame(shared, rows_.train, *dependence_.law);
    // Decompositions of parts of a matrix serve this fit alone.
    auto of_part = data.dependence;
    of_part.cache = "none";
    const auto row_runs = requests_of_row_flows(requests_);
    std::int64_t replicas = 0;
    for (const auto& request : requests_) {
      replicas = std::max(replicas, request.replicas.count);
    }
    if (shared.row_flows) groups_.row_kinds = flow_choices(row_runs.at(0)).size();
    for (std::int64_t fold = 0; fold < plan_.folds; ++fold) {
      auto rows = rows_of_fold(rows_, plan_, fold);
      check_row_count(data, rows);
      const auto dependence = make_dependence(of_part, rows);
      add_groups(requests_of_fold(requests_, fold), rows, dependence, 0);
      if (!shared.row_flows) continue;
      FittedDependence none;
      none.law = std::make_shared<Independent>(rows.train.data.size(0));
      add_groups(requests_of_fold(row_runs, fold), rows, none, replicas);
    }
    rows_.relations = {};
  }
  for (std::int64_t run = 0; run < std::ssize(requests_); ++run) check_ensemble(run);
  if (!device.is_cpu() && groups_.all.size() > 1) {
    for (std::size_t i = 0; i < std::min(groups_.all.size(), kMostQueues); ++i) {
      queues_.push_back(take_device_stream(device));
    }
  }
  for (std::size_t i = 0; i < groups_.all.size(); ++i) add_to_history(i, 0);
}

void FoldedTraining::check_ensemble(std::int64_t run) const {
  const auto trained = groups_.replicas_of(run), wanted = request(run).ensemble;
  if (wanted <= trained) return;
  throw InputError(
      fmt::format("--ensemble: expected at most {}, the number of flows that this run "
                  "trains, found {}",
                  trained, wanted));
}

const FitRequest& FoldedTraining::request(std::int64_t run) const {
  return requests_.at(static_cast<std::size_t>(run));
}

const FitRequest& FoldedTraining::given_request(std::int64_t run) const {
  return given_.at(static_cast<std::size_t>(run));
}

namespace {

// A relationship between rows that is as good as none.
bool no_rows_are_related(const Dependence& law) {
  constexpr double kRelated = 1e-6;  // of eigenvalues around 1
  const auto* folded = dynamic_cast<const FoldedLatents*>(&law);
  const auto& inner = folded != nullptr ? folded->inner() : law;
  if (const auto* families = dynamic_cast<const Families*>(&inner)) {
    return families->rows_of_largest_component() == 1;
  }
  const auto* dense = dynamic_cast<const Relationship*>(&inner);
  if (dense == nullptr || dense->rank() < dense->rows()) return false;
  const auto& values = dense->eigenvalues();
  return (values.amax(0) - values.amin(0)).item<double>() < kRelated;
}

}  // namespace

void FoldedTraining::describe(Logger& logger) const {
  const auto& first = groups_.of(0, 0);
  const auto& law = folds() == 1 ? *first.dependence().law : *dependence_.law;
  for (const auto& note : notes_) logger.info(note);
  if (!law.description().empty()) logger.info(law.description());
  if (no_rows_are_related(law)) {
    logger.warning("no two training rows are related: lambda cannot be learned");
  }
  const auto& group = requests_.front().data.dependence.group;
  if (blocks_of(law) != nullptr && law.parameter_count() == 0) {
    logger.warning("no two rows have the same label in column '" + group +
                   "': rows are taken as independent");
  }
  logger.info(fmt::format("columns: {}", fmt::join(rows_.columns, ", ")));
  const auto choice = choice_.line();
  if (!choice.empty()) logger.info(choice);
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
  if (groups_.kinds > 1) {
    logger.info("flows to choose from: " + described(flow_choices(requests_.front())));
  }
  if (groups_.row_kinds > 0) {
    logger.info(
        "half as many flows are trained as if rows were independent: they may join the "
        "density of single rows");
  }
  if (rows_.dropped_rows > 0) {
    logger.info(counted(rows_.dropped_rows, "row") + " with missing values left out");
  }
  for (const auto& warning : rows_.warnings) logger.warning(warning);
}

bool FoldedTraining::finished() const {
  return std::all_of(groups_.all.begin(), groups_.all.end(),
                     [](const auto& group) { return group->trainer().finished(); });
}

void FoldedTraining::add_to_history(std::size_t group, std::size_t first) {
  const auto& own = *groups_.all[group];
  const auto& records = own.trainer().history();
  for (auto i = first; i < records.size(); ++i) {
    history_.push_back(records[i]);
    history_.back().fold = static_cast<std::int64_t>(group / groups_.groups_of_fold());
    history_.back().replica = own.number_of(records[i].replica);
  }
}

template <typename Train>
void FoldedTraining::side_by_side(const std::vector<std::size_t>& groups,
                                  const Train& train) const {
  if (!queues_.empty()) {
    const auto device = queues_.front()->device();
    wait_for_stream(device);  // for what the caller has queued
    shared_workers().run(std::ssize(queues_), [&](std::int64_t queue, std::int64_t) {
      const auto own = static_cast<std::size_t>(queue);
      const DeviceStream stream(queues_[own]);
      for (const auto group : groups) {
        if (group % queues_.size() == own) train(group);
      }
      wait_for_stream(device);
    });
    return;
  }
  const bool share_cores = std::all_of(
      groups.begin(), groups.end(),
      [&](const auto group) { return groups_.all[group]->trainer().uses_own_team(); });
  if (share_cores) {
    shared_workers().run(std::ssize(groups), [&](std::int64_t turn, std::int64_t) {
      train(groups[static_cast<std::size_t>(turn)]);
    });
  } else {
    std::for_each(groups.begin(), groups.end(), train);
  }
}

void FoldedTraining::run_epoch() {
  std::vector<std::size_t> unfinished, known(groups_.all.size());
  for (std::size_t i = 0; i < groups_.all.size(); ++i) {
    const auto& trainer = groups_.all[i]->trainer();
    if (!trainer.finished()) unfinished.push_back(i);
    known[i] = trainer.history().size();
  }
  std::vector<std::string> failures(groups_.all.size());
  side_by_side(unfinished, [&](std::size_t group) {
    try {
      groups_.all[group]->trainer().run_epoch();
    } catch (const NumericalError& error) {
      failures[group] = error.what();
    }
  });
  for (const auto group : unfinished) add_to_history(group, known[group]);
  for (const auto group : unfinished) {
    if (failures[group].empty()) continue;
    // A fold can do without one kind of flow, and without row flows.
    const auto fold = group / groups_.groups_of_fold();
    bool is_lost = true;
    for (std::size_t kind = 0; kind < groups_.kinds; ++kind) {
      const auto& trainer = groups_.of(fold, kind).trainer();
      is_lost = is_lost && trainer.lost_replicas() == trainer.replicas();
    }
    if (is_lost) throw NumericalError(failures[group]);
  }
}

std::int64_t FoldedTraining::epochs_done() const {
  std::int64_t last = 0;
  for (const auto& group : groups_.all) {
    last = std::max(last, group->trainer().epochs_done());
  }
  return last;
}

std::int64_t FoldedTraining::earliest_end() const {
  std::int64_t last = 0;
  for (const auto& group : groups_.all) {
    last = std::max(last, group->trainer().earliest_end());
  }
  return last;
}

ValidScore FoldedTraining::valid_score() const {
  const bool is_weighted =
      std::any_of(groups_.all.begin(), groups_.all.end(), [](const auto& group) {
        return group->trainer().valid_score() == ValidScore::weighted;
      });
  return is_weighted ? ValidScore::weighted : ValidScore::rows;
}

std::vector<EpochRecord> FoldedTraining::history(std::int64_t run) const {
  std::vector<EpochRecord> own;
  for (std::size_t i = 0; i < groups_.all.size(); ++i) {
    for (auto record : groups_.all[i]->history(run)) {
      record.fold = static_cast<std::int64_t>(i / groups_.groups_of_fold());
      own.push_back(record);
    }
  }
  sort_by_epochs(own);
  return own;
}

std::vector<std::string> FoldedTraining::take_warnings() {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < groups_.all.size(); ++i) {
    for (const auto& warning : groups_.all[i]->trainer().take_warnings()) {
      all.push_back(
          folds() == 1
              ? warning
              : fmt::format("fold {}, {}", i / groups_.groups_of_fold() + 1, warning));
    }
  }
  return all;
}

TrainedFlow FoldedTraining::best_flow(std::size_t fold) const {
  TrainedFlow best;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 0; kind < groups_.kinds; ++kind) {
    const auto& trainer = groups_.of(fold, kind).trainer();
    const auto replica = trainer.best_replica();
    const double score = trainer.best_valid_nll(replica);
    if (score < lowest) best = {kind, replica};
    lowest = std::min(lowest, score);
  }
  return best;
}

std::string FoldedTraining::status_line() const {
  double now = 0, best = 0, typical = 0;
  for (std::size_t fold = 0; fold < groups_.folds(); ++fold) {
    const auto [kind, replica] = best_flow(fold);
    const auto& trainer = groups_.of(fold, kind).trainer();
    const auto& history = trainer.history();
    const auto& last = history[history.size() -
                               static_cast<std::size_t>(trainer.replicas() - replica)];
    const auto share = 1 / static_cast<double>(folds());
    now += share * last.valid_nll_nats;
    best += share * trainer.best_valid_nll(replica);
    typical += share * last.typical_parameter;
  }
  const auto& first = groups_.of(0, 0);
  auto line = fmt::format(
      "{} {} (best {}{})", valid_score_label(valid_score()), format_nats(now),
      format_nats(best),
      folds() == 1 ? fmt::format(" at {}", first.trainer().best_epoch(
                                               first.trainer().best_replica()))
                   : fmt::format(", {} folds", folds()));
  const auto name = first.dependence().learned.typical_name();
  if (!name.empty()) line += fmt::format(", typical {} {:.3f}", name, typical);
  return line;
}

std::string FoldedTraining::prefix_of(std::size_t group) const {
  const auto kinds = groups_.groups_of_fold();
  const auto fold = folds() == 1 ? "" : fmt::format("fold{}.", group / kinds + 1);
  return kinds == 1 ? fold : fold + fmt::format("kind{}.", group % kinds + 1);
}

NamedTensors FoldedTraining::state() {
  NamedTensors all;
  for (std::size_t i = 0; i < groups_.all.size(); ++i) {
    for (auto& [name, tensor] : groups_.all[i]->trainer().state()) {
      all[prefix_of(i) + name] = tensor;
    }
  }
  return all;
}

void FoldedTraining::restore(const NamedTensors& state, const std::string& source) {
  for (std::size_t i = 0; i < groups_.all.size(); ++i) {
    const auto prefix = prefix_of(i);
    NamedTensors own;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = tensor;
    }
    groups_.all[i]->trainer().restore(own, source);
  }
  history_.clear();
  for (std::size_t i = 0; i < groups_.all.size(); ++i) add_to_history(i, 0);
  sort_by_epochs(history_);
}

bool FoldedTraining::has_failed(std::int64_t run) const {
  for (std::size_t fold = 0; fold < groups_.folds(); ++fold) {
    const auto best = groups_.ranked(fold, run).front();
    if (groups_.trainer_of(fold, best).has_failed(best.replica)) return true;
  }
  return false;
}

RunScore FoldedTraining::score(std::int64_t run) const {
  RunScore mean;
  double epochs = 0;
  const double share = 1 / static_cast<double>(folds());
  for (std::size_t fold = 0; fold < groups_.folds(); ++fold) {
    const auto [kind, replica] = groups_.ranked(fold, run).front();
    const auto& trainer = groups_.of(fold, kind).trainer();
    const auto best = trainer.best_epoch(replica);
    mean.valid_nll_nats += share * trainer.best_valid_nll(replica);
    mean.typical_parameter +=
        share *
        trainer.history()[static_cast<std::size_t>(best * trainer.replicas() + replica)]
            .typical_parameter;
    epochs += share * static_cast<double>(best);
  }
  mean.epochs = groups_.epochs(run);
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
  const auto ordinary = [&](std::int64_t per_fold) {
    return train_ordinary(request(run), rows_, folds(), per_fold, logger, stop);
  };
  auto result = folds() == 1 ? finish_held_out(groups_, run, record, logger)
                             : finish_cross_fit({.groups = groups_,
                                                 .run = run,
                                                 .request = request(run),
                                                 .rows = rows_,
                                                 .plan = plan_,
                                                 .dependence = dependence_,
                                                 .valid_score = valid_score(),
                                                 .train_ordinary = ordinary,
                                                 .stop = stop},
                                                record, logger);
  if (!choice_.chosen.empty()) {
    result.model.record["dependence_choice"] = to_json(choice_);
  }
  set_threads(request(run).threads);
  add_shared_parts_of(run, result, logger);
  return result;
}

void FoldedTraining::add_shared_parts_of(std::int64_t run, FitResult& result,
                                         Logger& logger) const {
  if (!request(run).inference) return;
  const auto& first = groups_.of(0, 0);
  const bool has_folds = folds() > 1;
  add_shared_parts(has_folds ? dependence_ : first.dependence(), request(run),
                   has_folds ? rows_.train : first.rows().train, result.model, logger);
}

}  // namespace kinflow
