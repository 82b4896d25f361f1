// Members, held-out latents and scores, and the refit.
#include "kinflow/fit/cross_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/version.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/dependence/placement.h"
#include "kinflow/fit/fit_inference.h"
#include "kinflow/fit/flow_choices.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

// What the folds say of the rows that they held out.
struct HeldOut {
  LatentResult latents;  // [n, p] and [n], by the best flow of each row's fold
  /// Of the rows of each fold, by its members and then its row flows: [K, n of fold].
  std::vector<Array> log_densities;
};

// How many of every fold's members and row flows give the density of single rows.
struct RowMixture {
  std::int64_t members = 0;
  std::int64_t row_flows = 0;
};

// Of each fold, the best first.
using FlowsOfFolds = std::vector<std::vector<TrainedFlow>>;

// The members of each fold.
FlowsOfFolds choose_members(const CrossFit& fit, Logger& logger) {
  FlowsOfFolds members;
  std::size_t missing = 0;
  const auto& groups = fit.groups;
  const auto replicas =
      static_cast<std::size_t>(groups.replicas_of(fit.run)) / groups.folds();
  const auto wanted =
      std::min(static_cast<std::size_t>(fit.request.per_fold), replicas);
  for (std::size_t fold = 0; fold < groups.folds(); ++fold) {
    auto& own = members.emplace_back(groups.ranked(fold, fit.run));
    missing += wanted - std::min(wanted, own.size());
    own.resize(std::min(wanted, own.size()));
  }
  if (missing > 0) {
    logger.warning(fmt::format("flows diverged for good: the model lacks {}",
                               counted(missing, "member")));
  }
  return members;
}

// The best row flows of each fold, in every fold the same number: at most as many as a
// fold has members.
FlowsOfFolds rank_row_flows(const CrossFit& fit, const FlowsOfFolds& members) {
  FlowsOfFolds ranked;
  auto count = std::numeric_limits<std::size_t>::max();
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    ranked.push_back(fit.groups.ranked_row_flows(fold, fit.run));
    count = std::min({count, ranked.back().size(), members[fold].size()});
  }
  for (auto& of_fold : ranked) of_fold.resize(count);
  return ranked;
}

Array held_out_places(const CrossFit& fit, std::size_t fold) {
  return nd::tensor(fit.plan.held_out_rows(static_cast<std::int64_t>(fold)), nd::kLong);
}

HeldOut score_held_out(const CrossFit& fit, const FlowsOfFolds& members,
                       const FlowsOfFolds& row_flows) {
  const auto rows = fit.rows.train.data.size(0), columns = fit.rows.train.data.size(1);
  HeldOut all{.latents = {.latents = nd::empty({rows, columns}, nd::kDouble),
                          .log_abs_det = nd::empty({rows}, nd::kDouble)},
              .log_densities = {}};
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    const auto places = held_out_places(fit, fold);
    const auto& valid = fit.groups.of(fold, 0).rows().valid;
    std::vector<Array> densities;
    for (const auto& part : fit.groups.parts_of_model(fold, members[fold])) {
      const auto found = part.latents(valid.data, valid.context);
      if (densities.empty()) {
        all.latents.latents.index_copy_(0, places, found.latents[0]);
        all.latents.log_abs_det.index_copy_(0, places, found.log_abs_det[0]);
      }
      densities.push_back(standard_normal_log_density(found.latents) +
                          found.log_abs_det);
    }
    for (const auto& part : fit.groups.parts_of_model(fold, row_flows[fold])) {
      densities.push_back(part.row_log_densities(valid.data, valid.context));
    }
    all.log_densities.push_back(nd::cat(densities));
  }
  return all;
}

// The flow, by its place in its run, and the epoch with the lowest mean score over the
// folds. One that diverged for good in a fold is not taken.
struct Choice {
  std::size_t kind = 0;
  std::int64_t number = 0;
  std::int64_t epoch = 0;
};

Choice choose_by_folds(const CrossFit& fit) {
  const auto& groups = fit.groups;
  const double share = 1 / static_cast<double>(groups.folds());
  Choice choice;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 0; kind < groups.kinds; ++kind) {
    for (const auto replica : groups.of(0, kind).replicas_of(fit.run)) {
      // A fold that stopped earlier stays at its last score.
      std::vector<double> means;
      for (std::size_t fold = 0; fold < groups.folds(); ++fold) {
        const auto& trainer = groups.of(fold, kind).trainer();
        const auto last = trainer.epochs_done();
        const auto score_at = [&](std::int64_t epoch) {
          const double score =
              trainer
                  .history()[static_cast<std::size_t>(
                      std::min(epoch, last) * trainer.replicas() + replica)]
                  .valid_nll_nats;
          return std::isfinite(score) && !trainer.has_failed(replica)
                     ? score
                     : std::numeric_limits<double>::infinity();
        };
        const double end = means.empty() ? 0 : means.back();
        const auto known = std::max(means.size(), static_cast<std::size_t>(last) + 1);
        means.resize(known, end);
        for (std::size_t epoch = 0; epoch < known; ++epoch) {
          means[epoch] += share * score_at(static_cast<std::int64_t>(epoch));
        }
      }
      const auto best = std::min_element(means.begin(), means.end());
      if (*best >= lowest) continue;
      lowest = *best;
      choice = {.kind = kind,
                .number = groups.of(0, kind).number_of(replica),
                .epoch = best - means.begin()};
    }
  }
  return choice;
}

// One flow trained on all rows. The rows judge nothing here: the number of epochs is
// known.
std::unique_ptr<TrainingGroup> refit(const CrossFit& fit, const Choice& choice) {
  auto request = fit.request;
  const auto flow = flow_choices(request)[choice.kind];
  request.flow = flow.flow;
  request.train.patience = kManySteps;
  auto rows = fit.rows;
  rows.valid = rows.train;
  auto group = std::make_unique<TrainingGroup>(
      std::vector{std::move(request)}, std::move(rows), fit.dependence,
      TrainingPart{.decorrelate = flow.decorrelate,
                   .scores = flow.scores,
                   .replicas = {choice.number}});
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

// The most likely parameters for every member, where each latent has its own: the
// latents of one flow are not those of another. They are of all rows, most of which the
// member was trained on.
std::vector<Array> parameters_of_members(const CrossFit& fit,
                                         const FlowsOfFolds& members,
                                         const Array& start, Logger& logger) {
  std::vector<Array> all;
  const auto& rows = fit.rows.train;
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    for (const auto& part : fit.groups.parts_of_model(fold, members[fold])) {
      const auto latents = part.latents(rows.data, rows.context).latents;
      for (std::int64_t member = 0; member < part.members(); ++member) {
        all.push_back(likely_parameters(fit.dependence, fit.request, latents[member],
                                        start, logger));
      }
    }
  }
  return all;
}

// The mean NLL of held-out rows by what they are worth, and its error by units.
CrossValidation cross_validate(const CrossFit& fit, const Array& log_densities,
                               const Array& worth) {
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
// new row's latent is normal around a mean that is known to within 1 / kappa. How far
// the population spreads they say only together with what they have in common, so the
// scale is the most likely one too.
constexpr double kFewRows = 50;

bool leaves_location_open(double worth) { return worth > 0 && worth < kFewRows; }

std::optional<Calibration> spread_of_location(const CrossFit& fit,
                                              const CrossValidation& scores,
                                              const Array& latents,
                                              const std::vector<Array>& parameters,
                                              std::int64_t members, Logger& logger) {
  const double worth = scores.worth_of_rows;
  if (!leaves_location_open(worth)) return {};
  logger.warning(fmt::format(
      "for where the population lies the rows are worth {:.1f} independent ones: the "
      "density of a new row is spread over where it may lie, and the NLL of rows that "
      "are related to none of these may be far above the cross-validated one",
      worth));
  // Members with latents of their own have no location and scale in common.
  auto placement = Placement{.mean = nd::zeros({1, latents.size(1)}, nd::kDouble),
                             .deviation = nd::ones({1, latents.size(1)}, nd::kDouble)};
  if (parameters.size() == 1) {
    const auto& shared = parameters.front();
    placement = place(*fit.dependence.law, shared.unsqueeze(0),
                      latents.to(shared.device()).unsqueeze(0));
  }
  const auto for_each = [&](const Array& numbers) {
    return numbers.cpu().expand({members, latents.size(1)}).contiguous();
  };
  return Calibration{
      .mean = for_each(placement.mean),
      .deviation = for_each(placement.deviation) * std::sqrt(1 + 1 / worth)};
}

// The log-densities of all held-out rows under a mixture of their folds' flows, [n].
Array log_densities_of(const CrossFit& fit, const HeldOut& held_out,
                       const FlowsOfFolds& members, const RowMixture& mixture) {
  auto all = nd::empty({fit.rows.train.data.size(0)}, nd::kDouble);
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    const auto& own = held_out.log_densities[fold];
    const auto taken =
        nd::cat({own.narrow(0, 0, mixture.members),
                 own.narrow(0, std::ssize(members[fold]), mixture.row_flows)});
    all.index_copy_(0, held_out_places(fit, fold), mixture_log_density(taken));
  }
  return all;
}

// From the members alone over both to the row flows alone. Where the location of the
// population is open, flows that take rows as independent are too sure of it.
std::vector<RowMixture> row_mixtures(const FlowsOfFolds& members,
                                     const FlowsOfFolds& row_flows, double worth) {
  auto most = std::ssize(members.front());
  for (const auto& own : members) most = std::min(most, std::ssize(own));
  const auto further = leaves_location_open(worth) ? 0 : std::ssize(row_flows.front());
  std::vector<RowMixture> all;
  for (std::int64_t i = 0; i <= further; ++i) all.push_back({most, i});
  for (auto i = most - 1; further > 0 && i >= 0; --i) all.push_back({i, further});
  return all;
}

// The flows of all folds that give the density of single rows. Held-out units say
// fairly whether flows that take rows as independent describe single rows better; then
// flows that have seen rows of all units, and stop by single rows, do so best.
std::vector<ModelPart> row_parts_of(const CrossFit& fit, const FlowsOfFolds& members,
                                    const RowMixture& mixture) {
  if (mixture.row_flows == 0) return {};
  auto parts = fit.train_ordinary(mixture.row_flows);
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    auto flows = members[fold];
    flows.resize(static_cast<std::size_t>(mixture.members));
    for (auto& part : fit.groups.parts_of_model(fold, flows)) {
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace

FitResult finish_cross_fit(const CrossFit& fit, const nlohmann::json& record,
                           Logger& logger) {
  const auto members = choose_members(fit, logger);
  for (const auto& group : fit.groups.all) group->restore_best();
  const auto row_flows = rank_row_flows(fit, members);
  const auto held_out = score_held_out(fit, members, row_flows);
  const auto choice = choose_by_folds(fit);
  const auto on_all_rows = refit_or_warn(fit, choice, logger);
  set_threads(fit.request.threads);
  const auto start = on_all_rows
                         ? on_all_rows->trainer().best_parameters(0)
                         : fit.dependence
                               .start(fit.request.data.dependence,
                                      plan_replicas(fit.request).front().options)[0]
                               .to(find_device(fit.request.device));
  const bool has_own_latents =
      dynamic_cast<const FoldedLatents*>(fit.dependence.law.get()) != nullptr;
  std::vector<Array> parameters;
  if (has_own_latents) {
    parameters = parameters_of_members(fit, members, start, logger);
  } else {
    parameters.push_back(likely_parameters(fit.dependence, fit.request,
                                           held_out.latents.latents, start, logger,
                                           {.location_and_scale_are_known = false}));
  }

  FitResult result{
      .model = {.columns = fit.rows.columns,
                .context_columns = fit.request.data.context,
                .context_levels = fit.rows.train.context_levels,
                .parts = {},
                .dependence = fit.dependence.with_parameters(parameters.front()),
                .record = {}},
      .epochs = fit.groups.epochs(fit.run),
      .best_epoch = choice.epoch,
      .valid_score = fit.valid_score};
  auto& model = result.model;
  model.minus_nine = fit.rows.minus_nine;
  if (on_all_rows) model.map = on_all_rows->part_of_model({0});

  std::int64_t skipped = 0;
  double score = 0;
  const auto score_key = valid_score_key(result.valid_score);
  auto described = nlohmann::json::array();
  for (std::size_t fold = 0; fold < members.size(); ++fold) {
    for (auto& part : fit.groups.parts_of_model(fold, members[fold])) {
      model.parts.push_back(std::move(part));
    }
    for (const auto& member : members[fold]) {
      described.push_back(fit.groups.describe(fold, member, score_key));
      skipped += fit.groups.trainer_of(fold, member).skipped_steps(member.replica);
    }
    const auto& best = members[fold].front();
    score += fit.groups.trainer_of(fold, best).best_valid_nll(best.replica) /
             static_cast<double>(fit.plan.folds);
  }
  model.further_parameters.assign(static_cast<std::size_t>(model.members() - 1),
                                  model.dependence.parameters);
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    model.further_parameters[i - 1] =
        fit.dependence.with_parameters(parameters[i]).parameters;
  }
  result.valid_nll_nats = score;
  const auto worth = fit.dependence.law->row_worth(nd::stack(parameters)).mean(0).cpu();
  const auto mixtures = row_mixtures(members, row_flows, worth.sum().item<double>());
  const auto scores_of = [&](const RowMixture& one) {
    return cross_validate(fit, log_densities_of(fit, held_out, members, one), worth);
  };
  auto mixture = mixtures.front();
  const auto of_members = scores_of(mixture);
  auto scores = of_members;
  for (std::size_t i = 1; i < mixtures.size(); ++i) {
    auto of_other = scores_of(mixtures[i]);
    if (of_other.nll_nats >= scores.nll_nats) continue;
    scores = std::move(of_other);
    mixture = mixtures[i];
  }
  try {
    model.row_parts = row_parts_of(fit, members, mixture);
  } catch (const NumericalError& error) {
    logger.warning(fmt::format(
        "single rows have the density of the members alone, since flows of an ordinary "
        "fit diverged: {}",
        error.what()));
    mixture = mixtures.front();
    scores = of_members;
  }
  set_threads(fit.request.threads);
  result.cross_validation = std::move(scores);
  const auto& validated = *result.cross_validation;
  model.calibration = spread_of_location(fit, validated, held_out.latents.latents,
                                         parameters, model.members(), logger);
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
                  {"best_replica", choice.number},
                  {score_key, score},
                  {"skipped_steps", skipped},
                  {"restarts", fit.groups.restarts(fit.run)},
                  {"lost_replicas", fit.groups.lost_replicas(fit.run)},
                  {"members", std::move(described)},
                  {"cross_validation",
                   {{"nll_nats", validated.nll_nats},
                    {"standard_error", validated.standard_error},
                    {"folds", validated.folds},
                    {"units", validated.units},
                    {"worth_of_rows", validated.worth_of_rows},
                    {"held_out", fit.plan.note}}},
                  {"map", {{"replica", choice.number}, {"epochs", choice.epoch}}}};
  if (fit.groups.row_kinds > 0) {
    model.record["row_mixture"] = {{"members_of_fold", mixture.members},
                                   {"row_flows_of_fold", mixture.row_flows},
                                   {"nll_nats_of_members", of_members.nll_nats}};
  }
  if (fit.request.inference && !has_own_latents) {
    add_inference(fit.dependence, parameters.front(), held_out.latents, model, logger);
  } else if (fit.request.inference && model.map) {
    // The latents that `transform` gives.
    const auto found = model.map->latents(fit.rows.train.data, fit.rows.train.context);
    add_inference(fit.dependence, start,
                  {.latents = found.latents[0], .log_abs_det = found.log_abs_det[0]},
                  model, logger);
    model.record["inference"]["flow"] = "of all rows";
  }
  return result;
}

}  // namespace kinflow
