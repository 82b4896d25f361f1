// Preparation, description and the end of trainings.
#include "kinflow/fit/training_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/version.h"
#include "kinflow/engine/latent_map_start.h"
#include "kinflow/fit/fit_inference.h"
#include "kinflow/fit/flow_choices.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

// What differs between the laws of schedules.
const char* law_of(Schedule schedule) {
  if (schedule == Schedule::baseline) return "independent";
  return schedule == Schedule::grid ? "one correlation" : "as requested";
}

double bound_for(const FitRequest& request, const Array& standardized,
                 const Array& worth) {
  return request.bound.value_or(
      spline_bound_for(standardized, std::max(worth.sum().item<double>(), 0.0)));
}

}  // namespace

Array usual_worth(const FitRequest& request, const Dependence& law) {
  const auto parameters =
      law.default_parameters().unsqueeze(0).to(find_device(request.device));
  return law.row_worth(parameters).view({law.rows()}).cpu();
}

nlohmann::json new_run_record(const FitRequest& request) {
  nlohmann::json record = {{"kinflow_version", version()},
                           {"commit", commit()},
                           {"status", "running"},
                           {"request", to_json(request)},
                           {"data_hash", file_hash(request.data.table)}};
  if (!request.data.valid_table.empty()) {
    record["valid_hash"] = file_hash(request.data.valid_table);
  }
  record["dependence_hashes"] = nlohmann::json::object();
  for (const auto& path : input_files(request.data.dependence)) {
    record["dependence_hashes"][path] = file_hash(path);
  }
  return record;
}

void check_paths(const DataRequest& data) {
  auto paths = input_files(data.dependence);
  paths.push_back(data.table);
  paths.push_back(data.valid_table);
  paths.push_back(data.dependence.cache);
  for (const auto& path : paths) check_recorded_path(path);
}

std::string group_key(const FitRequest& request) {
  auto json = to_json(request);
  json.erase("ensemble");
  json.erase("per_fold");
  auto& train = json["train"];
  for (const auto* own : {"estimator", "dependence_rate", "prior", "grid"}) {
    train.erase(own);
  }
  // Where flows differ in kind all runs of a group have each kind.
  if (flow_choices(request).size() > 1) {
    json["replicas"] = request.replicas.count;
  } else {
    json.erase("replicas");
  }
  train["schedule"] = law_of(request.train.schedule);
  return json.dump();
}

FlowFrame make_frame(const FitRequest& request, const TableRows& train,
                     const Dependence& law) {
  const auto worth = usual_worth(request, law);
  FlowFrame frame{
      .standardization = request.standardize
                             ? Standardization::from(train.data, worth, train.bounds)
                             : Standardization::none(train.data.size(1), train.bounds),
      .context_standardization = {}};
  if (train.context.defined()) {
    frame.context_standardization = Standardization::from(train.context);
  }
  frame.bound = bound_for(request, frame.standardization.apply(train.data), worth);
  return frame;
}

TrainingGroup::TrainingGroup(std::vector<FitRequest> requests, FitRows rows,
                             FittedDependence dependence, const TrainingPart& part)
    : requests_(std::move(requests)),
      rows_(std::move(rows)),
      dependence_(std::move(dependence)) {
  auto frame = part.frame ? *part.frame
                          : make_frame(requests_.at(0), rows_.train, *dependence_.law);
  if (part.scores || part.decorrelate) reshape(part, frame);
  prepare(part, frame);
}

void TrainingGroup::reshape(const TrainingPart& part, FlowFrame& frame) const {
  // Held-out rows would be fitted by scores and correlations that they are part of.
  const auto& rows = rows_.train.data;
  const auto worth = usual_worth(requests_.at(0), *dependence_.law);
  auto& by = frame.standardization;
  if (part.scores) {
    const auto information = worth.sum().item<double>();
    if (!(information >= NormalScores::kFewestRows) &&
        requests_.at(0).normal_scores == ScoresUse::yes) {
      throw InputError(fmt::format(
          "--normal-scores yes: expected training rows that are worth at least {:.0f} "
          "independent ones, found {:.1f}",
          NormalScores::kFewestRows, information));
    }
    by = by.with_scores(rows, worth, information).value_or(by);
  }
  if (part.decorrelate) by = by.decorrelated(rows, worth).value_or(by);
  frame.bound = bound_for(requests_.at(0), by.apply(rows), worth);
}

void TrainingGroup::prepare(const TrainingPart& part, const FlowFrame& frame) {
  const auto& chosen = part.replicas;
  const auto& shared = requests_.at(0);
  const auto device = find_device(shared.device);
  const auto type = shared.float64 ? nd::kDouble : nd::kFloat;
  std::vector<Array> starts;
  std::vector<TrainOptions> replicas;
  std::vector<std::uint64_t> seeds;
  for (const auto& request : requests_) {
    first_replica_.push_back(std::ssize(replicas));
    std::int64_t number = 0;
    for (const auto& plan : plan_replicas(request)) {
      const auto own = dependence_.start(request.data.dependence, plan.options);
      for (std::int64_t i = 0; i < own.size(0); ++i, ++number) {
        const bool is_chosen = chosen.empty() || std::find(chosen.begin(), chosen.end(),
                                                           number) != chosen.end();
        if (!is_chosen) continue;
        numbers_.push_back(part.first_number + number);
        starts.push_back(own.narrow(0, i, 1));
        replicas.push_back(plan.options);
        seeds.push_back(plan.weights_seed);
      }
    }
  }
  first_replica_.push_back(std::ssize(replicas));
  auto options = shared.flow;
  options.dimension = rows_.train.data.size(1);
  options.context = rows_.train.context.defined() ? rows_.train.context.size(1) : 0;
  options.bound = frame.bound;
  if (options.dimension == 1) options.latent_map = false;
  // Two columns have one order.
  if (options.dimension <= 2) options.permutation = Permutation::alternating;
  const auto &of_data = frame.standardization,
             &of_context = frame.context_standardization;
  part_ = {of_data, of_context, std::make_unique<Flow>(options, seeds, type, device)};
  if (options.latent_map) {
    part_.flow->start_latent_map(
        latent_map_start(*dependence_.law, of_data.apply(rows_.train.data),
                         usual_worth(shared, *dependence_.law)));
  }
  const auto ready = [&](const Array& values, const Standardization& by) {
    return values.defined() ? by.apply(values).to(device, type) : values;
  };
  trainer_ = std::make_unique<Trainer>(
      *part_.flow, *dependence_.law,
      TrainingData{
          .train = ready(rows_.train.data, of_data),
          .train_context = ready(rows_.train.context, of_context),
          .valid = ready(rows_.valid.data, of_data),
          .valid_context = ready(rows_.valid.context, of_context),
          .valid_law = dependence_.valid_law.get(),
          .valid_weights = dependence_.valid_weights,
          .typical_weights = dependence_.typical_weights,
          .train_log_abs_det =
              of_data.log_abs_det(rows_.train.data).mean().item<double>(),
          .valid_log_abs_det = of_data.log_abs_det(rows_.valid.data).to(device),
          .calibrates = calibrates()},
      std::move(replicas), nd::cat(starts).to(device));
}

const FitRequest& TrainingGroup::request(std::int64_t run) const {
  return requests_.at(static_cast<std::size_t>(run));
}

std::vector<std::int64_t> TrainingGroup::ranked_replicas() const {
  std::vector<std::int64_t> ranked(static_cast<std::size_t>(trainer_->replicas()));
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(), [&](auto left, auto right) {
    return trainer_->best_valid_nll(left) < trainer_->best_valid_nll(right);
  });
  auto sound = ranked;
  std::erase_if(sound, [&](auto replica) { return trainer_->has_failed(replica); });
  return sound.empty() ? ranked : sound;
}

std::int64_t TrainingGroup::run_of(std::int64_t replica) const {
  return std::upper_bound(first_replica_.begin(), first_replica_.end(), replica) -
         first_replica_.begin() - 1;
}

std::int64_t TrainingGroup::number_of(std::int64_t replica) const {
  return numbers_.at(static_cast<std::size_t>(replica));
}

bool TrainingGroup::calibrates() const {
  return requests_.front().calibrate && rows_.has_valid_table;
}

void TrainingGroup::restore_best(std::optional<bool> calibrated) {
  trainer_->restore_best();
  calibration_.reset();
  if (!calibrated.value_or(calibrates())) return;
  const auto found = trainer_->calibration();
  calibration_ = {.mean = found.mean.cpu(), .deviation = found.deviation.cpu()};
}

Array TrainingGroup::row_log_densities(const TableRows& rows) const {
  auto result = part_.latents(rows.data, rows.context);
  if (calibration_) result = calibration_->apply(result);
  return standard_normal_log_density(result.latents) + result.log_abs_det;
}

std::vector<std::int64_t> TrainingGroup::replicas_of(std::int64_t run) const {
  const auto first = first_replica_.at(static_cast<std::size_t>(run));
  const auto end = first_replica_.at(static_cast<std::size_t>(run) + 1);
  std::vector<std::int64_t> replicas(static_cast<std::size_t>(end - first));
  std::iota(replicas.begin(), replicas.end(), first);
  return replicas;
}

std::int64_t TrainingGroup::lost_replicas(std::int64_t run) const {
  const auto replicas = replicas_of(run);
  return std::count_if(replicas.begin(), replicas.end(),
                       [&](auto replica) { return trainer_->has_failed(replica); });
}

std::int64_t TrainingGroup::restarts(std::int64_t run) const {
  std::int64_t sum = 0;
  for (const auto replica : replicas_of(run)) sum += trainer_->restarts(replica);
  return sum;
}

std::int64_t TrainingGroup::epochs(std::int64_t run) const {
  std::int64_t last = 0;
  for (const auto replica : replicas_of(run)) {
    last = std::max(last, trainer_->epochs_of(replica));
  }
  return last;
}

std::vector<EpochRecord> TrainingGroup::history(std::int64_t run) const {
  const auto first = first_replica_.at(static_cast<std::size_t>(run));
  const auto end = first_replica_[static_cast<std::size_t>(run) + 1];
  const auto last = epochs(run);
  std::vector<EpochRecord> own;
  for (auto record : trainer_->history()) {
    const bool is_own = record.replica >= first && record.replica < end;
    if (!is_own || record.epoch > last) continue;
    record.replica = number_of(record.replica);
    own.push_back(record);
  }
  return own;
}

ModelPart TrainingGroup::part_of_model(
    const std::vector<std::int64_t>& replicas) const {
  return part_.select(replicas, nd::kCPU);
}

}  // namespace kinflow
