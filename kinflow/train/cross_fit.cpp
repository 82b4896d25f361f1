// Members, held-out latents and scores, and the refit.
#include "kinflow/train/cross_fit.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/version.h"
#include "kinflow/flow/density.h"
#include "kinflow/train/fit_inference.h"

namespace kinflow {
namespace {

// What the folds say of the rows that they held out.
struct HeldOut {
  LatentResult latents;      // [n, p] and [n], by the best flow of each row's fold
  at::Tensor log_densities;  // [n], by the members of each row's fold
};

// The members of each fold, the best first.
std::vector<std::vector<std::int64_t>> choose_members(const CrossFit& fit,
                                                      Logger& logger) {
  std::vector<std::vector<std::int64_t>> members;
  std::size_t missing = 0;
  for (const auto& group : fit.groups) {
    members.push_back(group->ranked_replicas(fit.run));
    const auto wanted = std::min(static_cast<std::size_t>(fit.request.per_fold),
                                 group->replicas_of(fit.run).size());
    missing += wanted - std::min(wanted, members.back().size());
    members.back().resize(std::min(wanted, members.back().size()));
  }
  if (missing > 0) {
    logger.warning(fmt::format("flows diverged for good: the model lacks {}",
                               counted(missing, "member")));
  }
  return members;
}

HeldOut score_held_out(const CrossFit& fit,
                       const std::vector<std::vector<std::int64_t>>& members) {
  const auto rows = fit.rows.train.data.size(0), columns = fit.rows.train.data.size(1);
  HeldOut all{.latents = {.latents = at::empty({rows, columns}, at::kDouble),
                          .log_abs_det = at::empty({rows}, at::kDouble)},
              .log_densities = at::empty({rows}, at::kDouble)};
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    const auto& group = *fit.groups[fold];
    const auto places =
        at::tensor(fit.plan.held_out_rows(static_cast<std::int64_t>(fold)), at::kLong);
    const auto found = group.latents_of(group.rows().valid);
    const auto best = members[fold].front();
    all.latents.latents.index_copy_(0, places, found.latents[best]);
    all.latents.log_abs_det.index_copy_(0, places, found.log_abs_det[best]);
    const auto chosen = at::tensor(members[fold], at::kLong);
    all.log_densities.index_copy_(
        0, places,
        mixture_log_density(
            standard_normal_log_density(found.latents.index_select(0, chosen)) +
            found.log_abs_det.index_select(0, chosen)));
  }
  return all;
}

// The replica, counted within the run, and the epoch with the lowest mean score over
// the folds. One that diverged for good in a fold is not taken.
struct Choice {
  std::int64_t replica = 0;
  std::int64_t epoch = 0;
};

Choice choose_by_folds(const CrossFit& fit) {
  const auto replicas =
      static_cast<std::int64_t>(fit.groups.front()->replicas_of(fit.run).size());
  std::int64_t epochs = 0;
  for (const auto& group : fit.groups) {
    epochs = std::max(epochs, group->trainer().epochs_done());
  }
  // [replica, epoch]; a fold that stopped earlier stays at its last score.
  auto sums = at::zeros({replicas, epochs + 1}, at::kDouble);
  auto* sum = sums.data_ptr<double>();
  for (const auto& group : fit.groups) {
    const auto& trainer = group->trainer();
    const auto& history = trainer.history();
    const auto first = group->replicas_of(fit.run).front();
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      for (std::int64_t epoch = 0; epoch <= epochs; ++epoch) {
        const auto known = std::min(epoch, trainer.epochs_done());
        const double score = history[static_cast<std::size_t>(
                                         known * trainer.replicas() + first + replica)]
                                 .valid_nll_nats;
        const bool is_sound =
            std::isfinite(score) && !trainer.has_failed(first + replica);
        sum[replica * (epochs + 1) + epoch] +=
            is_sound ? score : std::numeric_limits<double>::infinity();
      }
    }
  }
  const auto lowest = sums.argmin().item<std::int64_t>();
  return {.replica = lowest / (epochs + 1), .epoch = lowest % (epochs + 1)};
}

// One flow trained on all rows. The rows judge nothing here: the number of epochs is
// known.
std::unique_ptr<TrainingGroup> refit(const CrossFit& fit, const Choice& choice) {
  auto request = fit.request;
  request.train.patience = kManySteps;
  auto rows = fit.rows;
  rows.valid = rows.train;
  auto group = std::make_unique<TrainingGroup>(
      std::vector{std::move(request)}, std::move(rows), fit.dependence,
      TrainingParts{.frame = fit.groups.front()->frame(),
                    .replicas = {choice.replica}});
  while (group->trainer().epochs_done() < choice.epoch) {
    if (fit.stop != nullptr && *fit.stop) {
      throw Interrupted(
          "interrupted in the last part, the flow of all rows; go on with --resume");
    }
    group->trainer().run_epoch();
  }
  return group;
}

// Null where it diverges for good.
std::unique_ptr<TrainingGroup> refit_or_warn(const CrossFit& fit, const Choice& choice,
                                             Logger& logger) {
  try {
    return refit(fit, choice);
  } catch (const NumericalError& error) {
    logger.warning(fmt::format(
        "there is no flow of all rows, and `transform` takes the first member: {}",
        error.what()));
    return nullptr;
  }
}

// The mean NLL of held-out rows by what they are worth, and its error by units.
CrossValidation cross_validate(const CrossFit& fit, const at::Tensor& log_densities,
                               const at::Tensor& parameters) {
  const auto worth =
      fit.dependence.law->row_worth(parameters.unsqueeze(0)).squeeze(0).cpu();
  CrossValidation result{.folds = fit.plan.folds,
                         .units = fit.plan.units,
                         .worth_of_rows = worth.sum().item<double>(),
                         .table_row = fit.rows.train.kept_rows,
                         .fold_of_row = fit.plan.fold_of_row,
                         .unit_of_row = fit.plan.unit_of_row};
  const auto rows = static_cast<std::size_t>(worth.numel());
  const auto weights = worth.clamp_min(0).contiguous();
  const auto densities = log_densities.contiguous();
  result.weight_of_row.assign(weights.data_ptr<double>(),
                              weights.data_ptr<double>() + rows);
  result.log_density_of_row.assign(densities.data_ptr<double>(),
                                   densities.data_ptr<double>() + rows);
  const auto mean = weighted_mean_by_units(result.log_density_of_row,
                                           result.weight_of_row, result.unit_of_row);
  result.nll_nats = -mean.mean;
  result.standard_error = mean.standard_error;
  return result;
}

// Rows that are worth few independent ones leave it open where the population lies: a
// new row's latent is normal around a mean that is known to within 1 / kappa.
constexpr double kFewRows = 50;

std::optional<Calibration> spread_of_location(const CrossValidation& scores,
                                              std::int64_t members,
                                              std::int64_t columns, Logger& logger) {
  const double worth = scores.worth_of_rows;
  if (!(worth > 0 && worth < kFewRows)) return {};
  logger.warning(fmt::format(
      "for where the population lies the rows are worth {:.1f} independent ones: the "
      "density of a new row is spread over where it may lie, and the NLL of rows that "
      "are related to none of these may be far above the cross-validated one",
      worth));
  return Calibration{
      .mean = at::zeros({members, columns}, at::kDouble),
      .deviation = at::full({members, columns}, std::sqrt(1 + 1 / worth), at::kDouble)};
}

nlohmann::json member_json(const TrainingGroup& group, std::size_t fold,
                           std::int64_t first, std::int64_t replica,
                           const std::string& score_key) {
  const auto& trainer = group.trainer();
  return {{"fold", fold + 1},
          {"replica", replica - first},
          {"best_epoch", trainer.best_epoch(replica)},
          {score_key, trainer.best_valid_nll(replica)},
          {"skipped_steps", trainer.skipped_steps(replica)},
          {"restarts", trainer.restarts(replica)}};
}

}  // namespace

FitResult finish_cross_fit(const CrossFit& fit, const nlohmann::json& record,
                           Logger& logger) {
  const c10::NoGradGuard no_grad;
  const auto members = choose_members(fit, logger);
  for (const auto& group : fit.groups) group->restore_best();
  const auto held_out = score_held_out(fit, members);
  const auto choice = choose_by_folds(fit);
  const auto on_all_rows = refit_or_warn(fit, choice, logger);
  set_threads(fit.request.threads);
  const auto start = on_all_rows
                         ? on_all_rows->trainer().best_parameters(0)
                         : fit.dependence
                               .start(fit.request.data.dependence,
                                      plan_replicas(fit.request).front().options)[0]
                               .to(find_device(fit.request.device));
  const auto parameters = likely_parameters(fit.dependence, fit.request,
                                            held_out.latents.latents, start, logger);

  const auto& frame = fit.groups.front()->frame();
  FitResult result{.model = {.columns = fit.rows.columns,
                             .context_columns = fit.request.data.context,
                             .context_levels = fit.rows.train.context_levels,
                             .standardization = frame.standardization,
                             .context_standardization = frame.context_standardization,
                             .flow = {},
                             .dependence = fit.dependence.with_parameters(parameters),
                             .record = {}},
                   .best_epoch = choice.epoch,
                   .valid_score = fit.valid_score};
  auto& model = result.model;
  model.minus_nine = fit.rows.minus_nine;
  if (on_all_rows) model.map = select_replicas(on_all_rows->flow(), {0}, at::kCPU);

  std::vector<at::Tensor> weights;
  std::int64_t skipped = 0, restarts = 0, lost = 0;
  double score = 0;
  const auto score_key = valid_score_key(result.valid_score);
  auto described = nlohmann::json::array();
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    const auto& group = *fit.groups[fold];
    const auto first = group.replicas_of(fit.run).front();
    for (const auto replica : members[fold]) {
      weights.push_back(group.flow().values()[replica].cpu());
      described.push_back(member_json(group, fold, first, replica, score_key));
      skipped += group.trainer().skipped_steps(replica);
    }
    score += group.trainer().best_valid_nll(members[fold].front()) /
             static_cast<double>(fit.plan.folds);
    restarts += group.restarts(fit.run);
    lost += group.lost_replicas(fit.run);
    result.epochs = std::max(result.epochs, group.epochs(fit.run));
  }
  model.flow =
      std::make_unique<Flow>(frame.flow, std::vector<std::uint64_t>(weights.size(), 0),
                             weights.front().scalar_type(), at::kCPU);
  model.flow->values().copy_(at::stack(weights));
  model.further_parameters.assign(weights.size() - 1, model.dependence.parameters);
  result.valid_nll_nats = score;
  result.cross_validation = cross_validate(fit, held_out.log_densities, parameters);
  const auto& validated = *result.cross_validation;
  model.calibration =
      spread_of_location(validated, model.members(), frame.flow.dimension, logger);
  model.record = {{"kinflow_version", version()},
                  {"request", record["request"]},
                  {"data_hash", record["data_hash"]},
                  {"columns", fit.rows.columns},
                  {"train_rows", fit.rows.train.data.size(0)},
                  {"valid_rows", fit.rows.train.data.size(0)},
                  {"dropped_rows", fit.rows.dropped_rows},
                  {"valid_score", name_of(valid_score_names(), result.valid_score)},
                  {"epochs", result.epochs},
                  {"best_epoch", choice.epoch},
                  {"best_replica", choice.replica},
                  {score_key, score},
                  {"skipped_steps", skipped},
                  {"restarts", restarts},
                  {"lost_replicas", lost},
                  {"members", std::move(described)},
                  {"cross_validation",
                   {{"nll_nats", validated.nll_nats},
                    {"standard_error", validated.standard_error},
                    {"folds", validated.folds},
                    {"units", validated.units},
                    {"worth_of_rows", validated.worth_of_rows},
                    {"held_out", fit.plan.note}}},
                  {"map", {{"replica", choice.replica}, {"epochs", choice.epoch}}}};
  if (fit.request.inference) {
    add_inference(fit.dependence, parameters, held_out.latents, model, logger);
  }
  return result;
}

}  // namespace kinflow
