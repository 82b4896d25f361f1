// Runs in groups, their results, and the folder of a sweep.
#include "kinflow/fit/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/memory.h"
#include "kinflow/core/time_left.h"
#include "kinflow/core/version.h"
#include "kinflow/engine/cuda/cuda_backend.h"
#include "kinflow/fit/folded_training.h"
#include "kinflow/fit/row_flows.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/fit/sweep_folder.h"
#include "kinflow/fit/training_group.h"
#include "kinflow/flow/cpu/fused_flow.h"
#include "kinflow/flow/cuda/cuda_backend.h"
#include "kinflow/flow/flow_plan.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;
// Bytes to plan with where the machine does not tell.
constexpr double kUnknownMemory = 4e9;

// Numbers of runs that are trained together.
using Group = std::vector<std::size_t>;

// Bytes that one more replica takes, at most.
double replica_bytes(const FitRequest& request, const FitRows& rows) {
  auto options = request.flow;
  options.dimension = rows.train.data.size(1);
  options.context = static_cast<std::int64_t>(request.data.context.size());
  // Values, two moments, a gradient and the best values, and what arrays make of them;
  // latents of all rows, in the algebra of the dependence in float64.
  const double weights = 10 * parameter_count(options);
  const auto latents =
      static_cast<double>(4 * rows.train.data.numel() + 3 * rows.valid.data.numel());
  // What a pass keeps of a batch.
  double features = 0;
  for (const auto& coupling : make_plan(options).couplings) {
    for (const auto& linear : coupling.linears) {
      features += 2 * static_cast<double>(linear.inputs + linear.outputs);
    }
  }
  return 8 * (weights + latents) +
         8 * features * static_cast<double>(request.train.batch_size);
}

// Memory for the replicas of a training, where the machine tells.
double memory_for(const FitRequest& request) {
  const auto available =
      request.device == "cuda" ? free_device_memory() : available_memory();
  return available.value_or(kUnknownMemory) / 2;
}

std::int64_t replicas_of(const FitRequest& request) {
  const auto values = request.train.schedule == Schedule::grid
                          ? static_cast<std::int64_t>(request.train.grid.size())
                          : 1;
  const auto count = values * request.replicas.count;
  return request.row_flows
             ? count + requests_of_row_flows({request}).front().replicas.count
             : count;
}

// Groups in the order of their first runs. All tables are read here once, so that a
// mistake in any of them is found before the first training.
std::vector<Group> make_groups(const SweepRequest& request, Logger& logger) {
  std::vector<std::string> keys;
  std::map<std::string, Group> runs_of_key;
  std::map<std::string, double> bytes_of_data;
  for (std::size_t run = 0; run < request.runs.size(); ++run) {
    const auto& own = request.runs[run].request;
    check_paths(own.data);
    const auto key = group_key(own);
    auto& runs = runs_of_key[key];
    if (runs.empty()) keys.push_back(key);
    runs.push_back(run);
  }
  std::vector<Group> groups;
  for (const auto& key : keys) {
    const auto& runs = runs_of_key[key];
    const auto& first = request.runs[runs.front()].request;
    auto most = request.most_replicas;
    const auto json = to_json(first);
    const auto data = json["data"].dump() + json["dependence"].dump();
    if (bytes_of_data.count(data) == 0) {
      const auto rows = read_fit_rows(first.data, first.flow);
      for (const auto& warning : rows.warnings) logger.warning(warning);
      if (!rows.hint.empty()) logger.info(rows.hint);
      bytes_of_data[data] =
          replica_bytes(first, rows) * static_cast<double>(folds_of(first.data, rows));
    }
    if (most == 0) {
      most = std::max(std::int64_t{1}, static_cast<std::int64_t>(memory_for(first) /
                                                                 bytes_of_data[data]));
    }
    std::int64_t replicas = 0;
    groups.emplace_back();
    for (const auto run : runs) {
      const auto own = replicas_of(request.runs[run].request);
      if (!groups.back().empty() && replicas + own > most) {
        groups.emplace_back();
        replicas = 0;
      }
      groups.back().push_back(run);
      replicas += own;
    }
  }
  return groups;
}

// The groups that a sweep began with; how much memory there is may have changed.
std::vector<Group> groups_of(const nlohmann::json& record, std::size_t runs,
                             const std::string& source) {
  std::vector<Group> groups;
  std::set<std::size_t> seen;
  try {
    groups = record.at("groups").get<std::vector<Group>>();
  } catch (const nlohmann::json::exception&) {
    throw InputError(source + ": key 'groups': expected lists of runs, found others");
  }
  for (const auto& group : groups) seen.insert(group.begin(), group.end());
  if (seen.size() == runs && (runs == 0 || *seen.rbegin() == runs - 1)) return groups;
  throw InputError(fmt::format("{}: key 'groups': expected the runs 0 to {}, found {}",
                               source, runs - 1, seen.size()));
}

// Hashes of all files that the runs read.
nlohmann::json data_hashes(const std::vector<SweepRun>& runs) {
  std::set<std::string> paths;
  for (const auto& run : runs) {
    const auto& data = run.request.data;
    paths.insert(data.table);
    if (!data.valid_table.empty()) paths.insert(data.valid_table);
    for (const auto& path : input_files(data.dependence)) paths.insert(path);
  }
  auto hashes = nlohmann::json::object();
  for (const auto& path : paths) hashes[path] = file_hash(path);
  return hashes;
}

void check_same_data(const nlohmann::json& before, const nlohmann::json& now) {
  for (const auto& [path, hash] : now.items()) {
    if (before.is_object() && before.value(path, nlohmann::json()) == hash) continue;
    throw InputError(path +
                     ": expected the file that the sweep began with, found another "
                     "content; start a new sweep");
  }
}

// Whether all runs have the same validation rows and columns.
bool is_scored_alike(const std::vector<SweepRun>& runs) {
  const auto scored = [](const FitRequest& request) {
    const auto& data = request.data;
    return fmt::format(
        "{}|{}|{}|{}|{}|{}|{}|{}", data.table, data.valid_table,
        fmt::join(data.columns, ","),
        name_of(split_by_names(), data.split_by.value_or(HoldOutBy::rows)), data.folds,
        data.fold_by, data.folds == 1 ? data.valid_fraction : 0,
        data.valid_table.empty() ? request.train.seed : 0);
  };
  return std::all_of(runs.begin(), runs.end(), [&](const SweepRun& run) {
    return scored(run.request) == scored(runs.front().request);
  });
}

class Sweep {
 public:
  Sweep(const SweepRequest& request, const SweepPlace& place, Logger& logger)
      : request_(request),
        place_(place),
        logger_(logger),
        folder_(place.directory),
        results_(request, folder_.results_path()) {}

  SweepResult run() {
    if (!place_.resume) folder_.check_free(place_.overwrite);
    // What this machine lacks is found before anything is written.
    const DeviceStream stream(find_device(request_.runs.at(0).request.device));
    check_kernels_choice();
    if (place_.resume) {
      lock_ = FolderLock(place_.directory, "sweep");
      remove_unfinished_files(place_.directory);
      const auto record = folder_.read_record();
      hashes_ = record.value("data_hashes", nlohmann::json());
      groups_ = groups_of(record, request_.runs.size(), folder_.record_path());
      check_same_data(hashes_, data_hashes(request_.runs));
      // Earlier versions held out other rows and scored them in another way.
      const bool holds_out = std::any_of(
          request_.runs.begin(), request_.runs.end(),
          [](const auto& run) { return run.request.data.valid_table.empty(); });
      if (holds_out && !record.contains("validation")) {
        throw InputError(place_.directory +
                         ": expected a sweep of this version, found one of an earlier "
                         "version, which held out other rows; start a new sweep");
      }
      results_.read();
    } else {
      groups_ = make_groups(request_, logger_);
      hashes_ = data_hashes(request_.runs);
      lock_ = folder_.create({{"kinflow_version", version()},
                              {"commit", commit()},
                              {"specification", request_.specification},
                              {"validation", "folds"},
                              {"data_hashes", hashes_},
                              {"groups", groups_}},
                             place_.overwrite);
    }
    logger_.info(counted(request_.runs.size(), "run") + " in " +
                 counted(groups_.size(), "training"));
    if (!is_scored_alike(request_.runs)) {
      logger_.warning(
          "runs are scored on different rows or columns: their validation NLLs, and so "
          "the best run, say little about each other");
    }
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (!is_done(group)) {
        train(groups_[group], group);
        give_back_device_memory();
      }
      runs_done_ += groups_[group].size();
      std::error_code ignored;
      fs::remove(folder_.checkpoint_path(group), ignored);
    }
    lock_.release();
    SweepResult result{.runs = static_cast<std::int64_t>(request_.runs.size()),
                       .failed = results_.failed(),
                       .best = {},
                       .seconds = seconds_since(start_)};
    if (const auto first = first_score()) {
      add_best(*first, result);
      for (const auto& [name, score] : valid_score_names()) {
        if (score != *first) add_best(score, result);
      }
    }
    return result;
  }

 private:
  // Of the first finished run, in the order of the trainings.
  std::optional<ValidScore> first_score() const {
    for (const auto& group : groups_) {
      for (const auto run : group) {
        if (const auto score = results_.score(run)) return score;
      }
    }
    return {};
  }

  std::string best_path(ValidScore score) const {
    return score == first_score().value_or(score) ? folder_.best_path()
                                                  : folder_.best_path(score);
  }

  void add_best(ValidScore score, SweepResult& result) const {
    const auto best = results_.best(score);
    if (!best) return;
    result.best.push_back({.run = static_cast<std::int64_t>(*best),
                           .valid_nll_nats = results_.nll(*best),
                           .score = score,
                           .directory = best_path(score)});
  }

  // Once for each score that differs from that of the first training.
  void warn_of_other_score(ValidScore score) {
    if (first_score().value_or(score) == score || results_.best(score)) return;
    logger_.warning(fmt::format(
        "runs have different scores, with validation rows that count alike or by what "
        "they are worth: they are not compared, and {} holds the best by the {}",
        folder_.best_path(score), valid_score_label(score)));
  }

  bool is_done(std::size_t group) const {
    return std::all_of(groups_[group].begin(), groups_[group].end(),
                       [&](std::size_t run) { return results_.has(run); });
  }

  // Trains runs of a group; where they cannot be trained together, one by one.
  void train(const Group& runs, std::size_t number) {
    std::vector<SweepRun> chosen;
    std::vector<FitRequest> requests;
    for (const auto run : runs) {
      chosen.push_back(request_.runs[run]);
      requests.push_back(chosen.back().request);
    }
    std::string failure;
    std::optional<FoldedTraining> group;
    const auto start = Clock::now();
    time_left_.begin_set_up();
    try {
      group.emplace(std::move(requests), logger_);
      check_same_data(hashes_, data_hashes(chosen));
      warn_of_other_score(group->valid_score());
      set_up_seconds_ += seconds_since(start);
      ++set_ups_;
      run_epochs(*group, number, runs.size() == groups_[number].size());
    } catch (const NumericalError& error) {
      if (runs.size() > 1) {
        for (const auto run : runs) train({run}, number);
        return;
      }
      failure = fmt::format("failed: {}", error.what());
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      results_.set(runs[i], failure.empty()
                                ? result_of(*group, static_cast<std::int64_t>(i))
                                : RunResult{.status = failure});
    }
    // The best run is in its place before the results name it.
    if (failure.empty()) {
      const auto best = results_.best(group->valid_score());
      const auto place = best ? std::find(runs.begin(), runs.end(), *best) : runs.end();
      if (place != runs.end()) write_best(*group, place - runs.begin());
    }
    results_.write();
  }

  // @param keeps_checkpoint  where a whole group is trained
  void run_epochs(FoldedTraining& training, std::size_t number, bool keeps_checkpoint) {
    const auto path = folder_.checkpoint_path(number);
    std::error_code ignored;
    if (place_.resume && keeps_checkpoint && fs::exists(path, ignored)) {
      try {
        training.restore(load_tensors(path).second, path);
      } catch (const InputError& error) {
        throw InputError(fmt::format("{} (without this file the training begins anew)",
                                     error.what()));
      }
    }
    auto last_checkpoint = Clock::now();
    while (!training.finished()) {
      training.run_epoch();
      for (const auto& warning : training.take_warnings()) logger_.warning(warning);
      const bool stop = place_.stop != nullptr && *place_.stop;
      if (keeps_checkpoint &&
          (stop || seconds_since(last_checkpoint) >= place_.checkpoint_seconds)) {
        save_tensors(path, {}, training.state());
        last_checkpoint = Clock::now();
      }
      if (stop) {
        throw Interrupted(fmt::format(
            "interrupted after {} of {}; go on with: kinflow sweep --resume {}",
            runs_done_, counted(request_.runs.size(), "run"), place_.directory));
      }
      report(training, number);
    }
  }

  void report(const FoldedTraining& training, std::size_t number) {
    const double epochs = static_cast<double>(training.request(0).train.epochs);
    const double share = static_cast<double>(training.epochs_done()) / epochs;
    const double now = static_cast<double>(runs_done_) +
                       share * static_cast<double>(groups_[number].size());
    time_left_.observe(now);
    const double total = static_cast<double>(request_.runs.size());
    double seconds_left = time_left_.seconds_for(total - now);
    if (seconds_left >= 0) {
      seconds_left += set_up_seconds_ / static_cast<double>(set_ups_) *
                      static_cast<double>(groups_.size() - number - 1);
    }
    const auto best = results_.best(training.valid_score());
    const double here = training.best_score();
    const double lowest = best ? std::min(here, results_.nll(*best)) : here;
    logger_.progress(
        {.job = "sweep",
         .done = static_cast<std::int64_t>(now),
         .total = static_cast<std::int64_t>(total),
         .unit = "run",
         .status = fmt::format("training {} of {}, epoch {}/{}, best {} {}", number + 1,
                               groups_.size(), training.epochs_done(), epochs,
                               valid_score_label(training.valid_score()),
                               format_nats(lowest)),
         .seconds_left = seconds_left,
         .least_seconds_left = may_end_early() ? 0.0 : -1.0});
  }

  bool may_end_early() const {
    return std::any_of(request_.runs.begin(), request_.runs.end(), [](const auto& run) {
      return run.request.train.patience < run.request.train.epochs;
    });
  }

  static RunResult result_of(const FoldedTraining& group, std::int64_t run) {
    if (group.has_failed(run)) {
      return {.status = fmt::format(
                  "failed: training diverged {} times; try a smaller learning rate",
                  Trainer::kMaximumRestarts + 1)};
    }
    const auto score = group.score(run);
    return {.status = RunResult::kFinished,
            .valid_nll_nats = score.valid_nll_nats,
            .score = group.valid_score(),
            .best_epoch = score.best_epoch,
            .epochs = score.epochs,
            .typical_parameter = score.typical_parameter};
  }

  // Puts the run folder of a run into the place of the best one.
  void write_best(FoldedTraining& group, std::int64_t run) {
    const auto score = group.valid_score();
    const auto path = best_path(score), unfinished = path + ".new";
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
    const auto record = new_run_record(group.given_request(run));
    auto folder = RunFolder::create(unfinished, record);
    folder.write_metrics(group.history(run), score);
    set_threads(group.request(run).threads);
    auto result = group.finish(run, record, logger_);
    result.seconds = seconds_since(start_);
    folder.write_result(record, result);
    const auto replaced = path + ".old";
    fs::remove_all(replaced, ignored);
    fs::rename(path, replaced, ignored);
    std::error_code error;
    fs::rename(unfinished, path, error);
    fs::remove_all(replaced, ignored);
    if (error) throw InputError(path + ": cannot be written: " + error.message());
  }

  const SweepRequest& request_;
  const SweepPlace& place_;
  Logger& logger_;
  SweepFolder folder_;
  FolderLock lock_;
  SweepResults results_;
  std::vector<Group> groups_;
  nlohmann::json hashes_;  // of the input files when the sweep began
  std::size_t runs_done_ = 0;
  const Clock::time_point start_ = Clock::now();
  TimeLeft time_left_;  // by runs
  double set_up_seconds_ = 0;
  std::int64_t set_ups_ = 0;
};

}  // namespace

SweepResult sweep(const SweepRequest& request, const SweepPlace& place,
                  Logger& logger) {
  return Sweep(request, place, logger).run();
}

nlohmann::json read_sweep_specification(const std::string& directory) {
  const SweepFolder folder(directory);
  return JsonReader(folder.read_record(), folder.record_path())
      .object("specification")
      .json();
}

}  // namespace kinflow
