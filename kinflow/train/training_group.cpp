// Preparation, description and the end of trainings.
#include "kinflow/train/training_group.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/version.h"
#include "kinflow/flow/density.h"
#include "kinflow/train/fit_inference.h"
#include "kinflow/train/run_folder.h"

namespace kinflow {
namespace {

// What differs between the laws of schedules.
const char* law_of(Schedule schedule) {
  if (schedule == Schedule::baseline) return "independent";
  return schedule == Schedule::grid ? "one correlation" : "as requested";
}

}  // namespace

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
  json.erase("replicas");
  train["schedule"] = law_of(request.train.schedule);
  return json.dump();
}

FlowFrame make_frame(const FitRequest& request, const TableRows& train,
                     const Dependence& law) {
  const auto device = find_device(request.device);
  const auto weights = law.row_worth(law.default_parameters().unsqueeze(0).to(device))
                           .view({law.rows()})
                           .cpu();
  FlowFrame frame{.standardization = request.standardize
                                         ? Standardization::from(train.data, weights)
                                         : Standardization::none(train.data.size(1)),
                  .context_standardization = {},
                  .flow = request.flow};
  if (train.context.defined()) {
    frame.context_standardization = Standardization::from(train.context);
  }
  frame.flow.dimension = train.data.size(1);
  frame.flow.context = train.context.defined() ? train.context.size(1) : 0;
  frame.flow.bound = request.bound.value_or(
      spline_bound_for(frame.standardization.apply(train.data),
                       std::max(weights.sum().item<double>(), 0.0)));
  return frame;
}

TrainingGroup::TrainingGroup(std::vector<FitRequest> requests, FitRows rows,
                             FittedDependence dependence, TrainingParts parts)
    : requests_(std::move(requests)),
      rows_(std::move(rows)),
      dependence_(std::move(dependence)),
      frame_(parts.frame ? std::move(*parts.frame)
                         : make_frame(requests_.at(0), rows_.train, *dependence_.law)) {
  prepare(parts.replicas);
}

void TrainingGroup::prepare(const std::vector<std::int64_t>& chosen) {
  const auto& shared = requests_.at(0);
  const auto device = find_device(shared.device);
  const auto type = shared.float64 ? at::kDouble : at::kFloat;
  const auto& law = *dependence_.law;
  const double information =
      std::max(law.row_worth(law.default_parameters().unsqueeze(0).to(device))
                   .sum()
                   .item<double>(),
               0.0);
  std::vector<at::Tensor> starts;
  std::vector<TrainOptions> replicas;
  std::vector<std::uint64_t> seeds;
  for (const auto& request : requests_) {
    first_replica_.push_back(static_cast<std::int64_t>(replicas.size()));
    for (const auto& plan : plan_replicas(request)) {
      starts.push_back(dependence_.start(request.data.dependence, plan.options));
      const auto count = static_cast<std::size_t>(starts.back().size(0));
      replicas.insert(replicas.end(), count, plan.options);
      seeds.insert(seeds.end(), count, plan.weights_seed);
    }
  }
  auto start = at::cat(starts);
  if (!chosen.empty()) {
    const auto take = [&](auto& list) {
      auto all = std::exchange(list, {});
      for (const auto i : chosen) list.push_back(all.at(static_cast<std::size_t>(i)));
    };
    take(replicas);
    take(seeds);
    start = start.index_select(0, at::tensor(chosen, at::kLong));
  }
  first_replica_.push_back(static_cast<std::int64_t>(replicas.size()));
  for (std::size_t run = 0; run < requests_.size(); ++run) {
    check_ensemble(static_cast<std::int64_t>(run));
  }
  flow_ = std::make_unique<Flow>(frame_.flow, seeds, type, device);
  const auto ready = [&](const at::Tensor& values, const Standardization& by) {
    return values.defined() ? by.apply(values).to(device, type) : values;
  };
  const auto &of_data = frame_.standardization,
             &of_context = frame_.context_standardization;
  trainer_ = std::make_unique<Trainer>(
      *flow_, *dependence_.law,
      TrainingData{.train = ready(rows_.train.data, of_data),
                   .train_context = ready(rows_.train.context, of_context),
                   .valid = ready(rows_.valid.data, of_data),
                   .valid_context = ready(rows_.valid.context, of_context),
                   .valid_law = dependence_.valid_law.get(),
                   .valid_weights = dependence_.valid_weights,
                   .typical_weights = dependence_.typical_weights,
                   .log_abs_det = of_data.log_abs_det(),
                   .training_information = information,
                   .calibrates = calibrates()},
      std::move(replicas), start.to(device));
  if (trainer_->uses_own_team()) set_tensor_threads(1);
}

void TrainingGroup::check_ensemble(std::int64_t run) const {
  const auto index = static_cast<std::size_t>(run);
  const auto replicas = first_replica_[index + 1] - first_replica_[index];
  const auto wanted = requests_[index].ensemble;
  if (wanted <= replicas) return;
  throw InputError(
      fmt::format("--ensemble: expected at most {}, the number of flows that this run "
                  "trains, found {}",
                  replicas, wanted));
}

const FitRequest& TrainingGroup::request(std::int64_t run) const {
  return requests_.at(static_cast<std::size_t>(run));
}

std::vector<std::int64_t> TrainingGroup::ranked_between(std::int64_t first,
                                                        std::int64_t end) const {
  std::vector<std::int64_t> ranked(static_cast<std::size_t>(end - first));
  std::iota(ranked.begin(), ranked.end(), first);
  std::stable_sort(ranked.begin(), ranked.end(), [&](auto left, auto right) {
    return trainer_->best_valid_nll(left) < trainer_->best_valid_nll(right);
  });
  auto sound = ranked;
  std::erase_if(sound, [&](auto replica) { return trainer_->has_failed(replica); });
  return sound.empty() ? ranked : sound;
}

std::vector<std::int64_t> TrainingGroup::ranked_replicas(std::int64_t run) const {
  return ranked_between(first_replica_.at(static_cast<std::size_t>(run)),
                        first_replica_.at(static_cast<std::size_t>(run) + 1));
}

std::vector<std::int64_t> TrainingGroup::ranked_replicas() const {
  return ranked_between(0, first_replica_.back());
}

std::int64_t TrainingGroup::run_of(std::int64_t replica) const {
  return std::upper_bound(first_replica_.begin(), first_replica_.end(), replica) -
         first_replica_.begin() - 1;
}

std::int64_t TrainingGroup::best_replica(std::int64_t run) const {
  return ranked_replicas(run).front();
}

bool TrainingGroup::calibrates() const {
  return requests_.front().calibrate && rows_.has_valid_table;
}

void TrainingGroup::restore_best(std::optional<bool> calibrated) {
  trainer_->restore_best();
  calibration_.reset();
  if (calibrated.value_or(calibrates())) calibration_ = trainer_->calibration();
}

LatentResult TrainingGroup::latents_of(const TableRows& rows) const {
  const c10::NoGradGuard no_grad;
  const auto& like = flow_->values();
  const auto ready = [&](const at::Tensor& values, const Standardization& by) {
    return values.defined() ? by.apply(values).to(like.device(), like.scalar_type())
                            : values;
  };
  auto result = all_latents(*flow_, ready(rows.data, frame_.standardization),
                            ready(rows.context, frame_.context_standardization));
  if (calibration_) result = calibration_->apply(result);
  return {.latents = result.latents.to(at::kDouble).cpu(),
          .log_abs_det = result.log_abs_det.to(at::kDouble).cpu() +
                         frame_.standardization.log_abs_det()};
}

at::Tensor TrainingGroup::row_log_densities(const TableRows& rows) const {
  const auto result = latents_of(rows);
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

bool TrainingGroup::has_failed(std::int64_t run) const {
  return lost_replicas(run) == std::ssize(replicas_of(run));
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
    record.replica -= first;
    own.push_back(record);
  }
  return own;
}

std::vector<std::int64_t> TrainingGroup::choose_members(std::int64_t run,
                                                        Logger& logger) const {
  const auto wanted = static_cast<std::size_t>(request(run).ensemble);
  auto members = ranked_replicas(run);
  if (members.size() < wanted) {
    logger.warning(
        fmt::format("{} of the flows diverged for good: the model has {} in "
                    "place of {}",
                    lost_replicas(run), counted(members.size(), "member"), wanted));
  }
  members.resize(std::min(wanted, members.size()));
  return members;
}

double TrainingGroup::valid_nll(const Model& model,
                                const std::vector<std::int64_t>& members) const {
  if (members.size() == 1) return trainer_->best_valid_nll(members.front());
  const auto densities = model.row_log_density(rows_.valid.data, rows_.valid.context);
  const auto weights = trainer_->valid_row_weights(
      trainer_->best_parameters(members.front()).unsqueeze(0));
  if (!weights.defined()) return -densities.mean().item<double>();
  const auto row_weights = weights.squeeze(0).cpu();
  return -((densities * row_weights).sum() / row_weights.sum()).item<double>();
}

FitResult TrainingGroup::finish(std::int64_t run, const nlohmann::json& record,
                                Logger& logger) {
  const auto& request = this->request(run);
  const auto first = first_replica_[static_cast<std::size_t>(run)];
  restore_best();
  const auto members = choose_members(run, logger);
  const auto best = members.front();
  FitResult result{.model = {.columns = rows_.columns,
                             .context_columns = request.data.context,
                             .context_levels = rows_.train.context_levels,
                             .standardization = frame_.standardization,
                             .context_standardization = frame_.context_standardization,
                             .flow = select_replicas(*flow_, members, at::kCPU),
                             .dependence = {},
                             .record = {}},
                   .epochs = epochs(run),
                   .best_epoch = trainer_->best_epoch(best),
                   .valid_score = trainer_->valid_score()};
  auto& model = result.model;
  model.minus_nine = rows_.minus_nine;
  if (calibration_) model.calibration = calibration_->of_replicas(members);
  model.further_parameters.resize(members.size() - 1);
  result.valid_nll_nats = valid_nll(model, members);
  at::Tensor parameters_of_best;
  LatentResult latents_of_best;
  const auto score_key = valid_score_key(result.valid_score);
  auto described = nlohmann::json::array();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto replica = members[i];
    const auto trained = trainer_->best_parameters(replica);
    const auto latents = model.member(static_cast<std::int64_t>(i))
                             .to_latent(rows_.train.data, rows_.train.context);
    const auto parameters =
        likely_parameters(dependence_, request, latents.latents, trained, logger);
    auto learned = dependence_.with_parameters(parameters);
    if (i == 0) {
      parameters_of_best = parameters;
      latents_of_best = latents;
      model.dependence = std::move(learned);
    } else {
      model.further_parameters[i - 1] = std::move(learned.parameters);
    }
    described.push_back({{"replica", replica - first},
                         {"best_epoch", trainer_->best_epoch(replica)},
                         {score_key, trainer_->best_valid_nll(replica)},
                         {"skipped_steps", trainer_->skipped_steps(replica)},
                         {"restarts", trainer_->restarts(replica)}});
  }
  model.record = {{"kinflow_version", version()},
                  {"request", record["request"]},
                  {"data_hash", record["data_hash"]},
                  {"train_rows", rows_.train.data.size(0)},
                  {"valid_rows", rows_.valid.data.size(0)},
                  {"dropped_rows", rows_.dropped_rows},
                  {"valid_score", name_of(valid_score_names(), result.valid_score)},
                  {"epochs", result.epochs},
                  {"best_epoch", result.best_epoch},
                  {"best_replica", best - first},
                  {score_key, result.valid_nll_nats},
                  {"skipped_steps", trainer_->skipped_steps(best)},
                  {"restarts", restarts(run)},
                  {"lost_replicas", lost_replicas(run)},
                  {"members", std::move(described)}};
  if (request.inference) {
    add_inference(dependence_, parameters_of_best, latents_of_best, model, logger);
    if (model.members() > 1) model.record["inference"]["member"] = "best";
  }
  return result;
}

}  // namespace kinflow
