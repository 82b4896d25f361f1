// Ranks, members and the model of rows that are held out once.
#include "kinflow/fit/fold_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/log.h"
#include "kinflow/core/version.h"
#include "kinflow/fit/fit_inference.h"

namespace kinflow {
namespace {

std::vector<TrainedFlow> choose_members(const FoldGroups& groups, std::int64_t run,
                                        Logger& logger) {
  const auto wanted = static_cast<std::size_t>(groups.of(0, 0).request(run).ensemble);
  auto members = groups.ranked(0, run);
  if (members.size() < wanted) {
    logger.warning(fmt::format(
        "{} of the flows diverged for good: the model has {} in "
        "place of {}",
        groups.lost_replicas(run), counted(members.size(), "member"), wanted));
  }
  members.resize(std::min(wanted, members.size()));
  return members;
}

// Of the mixture of all members.
double valid_nll(const FoldGroups& groups, const std::vector<TrainedFlow>& members,
                 const Model& model) {
  const auto& best = members.front();
  const auto& trainer = groups.trainer_of(0, best);
  if (members.size() == 1) return trainer.best_valid_nll(best.replica);
  const auto& valid = groups.of(0, best.kind).rows().valid;
  const auto densities = model.row_log_density(valid.data, valid.context);
  const auto weights =
      trainer.valid_row_weights(trainer.best_parameters(best.replica).unsqueeze(0));
  if (!weights.defined()) return -densities.mean().item<double>();
  const auto row_weights = weights.squeeze(0).cpu();
  return -((densities * row_weights).sum() / row_weights.sum()).item<double>();
}

std::optional<Calibration> calibration_of(const FoldGroups& groups,
                                          const std::vector<TrainedFlow>& members) {
  std::vector<Array> means, deviations;
  for (const auto& member : members) {
    const auto& all = groups.of(0, member.kind).calibration();
    if (!all) return {};
    const auto own = all->of_replicas({member.replica});
    means.push_back(own.mean);
    deviations.push_back(own.deviation);
  }
  return Calibration{.mean = nd::cat(means), .deviation = nd::cat(deviations)};
}

struct SortedFlows {
  std::vector<TrainedFlow> sound, failed;
};

// The flows of some kinds, the best first.
// @param range  the first kind and the end
SortedFlows sort_flows(const FoldGroups& groups, std::size_t fold, std::int64_t run,
                       std::pair<std::size_t, std::size_t> range) {
  SortedFlows sorted;
  for (auto kind = range.first; kind < range.second; ++kind) {
    const auto& group = groups.of(fold, kind);
    for (const auto replica : group.replicas_of(run)) {
      auto& flows = group.trainer().has_failed(replica) ? sorted.failed : sorted.sound;
      flows.push_back({kind, replica});
    }
  }
  const auto score = [&](const TrainedFlow& flow) {
    return groups.trainer_of(fold, flow).best_valid_nll(flow.replica);
  };
  for (auto* flows : {&sorted.sound, &sorted.failed}) {
    std::stable_sort(flows->begin(), flows->end(),
                     [&](const auto& left, const auto& right) {
                       return score(left) < score(right);
                     });
  }
  return sorted;
}

}  // namespace

std::vector<TrainedFlow> FoldGroups::ranked(std::size_t fold, std::int64_t run) const {
  auto flows = sort_flows(*this, fold, run, {0, kinds});
  return flows.sound.empty() ? flows.failed : flows.sound;
}

std::vector<TrainedFlow> FoldGroups::ranked_row_flows(std::size_t fold,
                                                      std::int64_t run) const {
  return sort_flows(*this, fold, run, {kinds, groups_of_fold()}).sound;
}

std::int64_t FoldGroups::replicas_of(std::int64_t run) const {
  std::int64_t sum = 0;
  for (std::size_t fold = 0; fold < folds(); ++fold) {
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      sum += std::ssize(of(fold, kind).replicas_of(run));
    }
  }
  return sum;
}

std::int64_t FoldGroups::lost_replicas(std::int64_t run) const {
  std::int64_t sum = 0;
  for (const auto& group : all) sum += group->lost_replicas(run);
  return sum;
}

std::int64_t FoldGroups::restarts(std::int64_t run) const {
  std::int64_t sum = 0;
  for (const auto& group : all) sum += group->restarts(run);
  return sum;
}

std::int64_t FoldGroups::epochs(std::int64_t run) const {
  std::int64_t last = 0;
  for (const auto& group : all) last = std::max(last, group->epochs(run));
  return last;
}

std::vector<ModelPart> FoldGroups::parts_of_model(
    std::size_t fold, const std::vector<TrainedFlow>& flows) const {
  std::vector<ModelPart> parts;
  for (auto at = flows.begin(); at != flows.end();) {
    const auto kind = at->kind;
    std::vector<std::int64_t> replicas;
    for (; at != flows.end() && at->kind == kind; ++at) replicas.push_back(at->replica);
    parts.push_back(of(fold, kind).part_of_model(replicas));
  }
  return parts;
}

nlohmann::json FoldGroups::describe(std::size_t fold, const TrainedFlow& flow,
                                    const std::string& score_key) const {
  const auto& trainer = trainer_of(fold, flow);
  nlohmann::json described = {{"replica", of(fold, flow.kind).number_of(flow.replica)},
                              {"best_epoch", trainer.best_epoch(flow.replica)},
                              {score_key, trainer.best_valid_nll(flow.replica)},
                              {"skipped_steps", trainer.skipped_steps(flow.replica)},
                              {"restarts", trainer.restarts(flow.replica)}};
  if (folds() > 1) described["fold"] = fold + 1;
  return described;
}

FitResult finish_held_out(const FoldGroups& groups, std::int64_t run,
                          const nlohmann::json& record, Logger& logger) {
  for (const auto& group : groups.all) group->restore_best();
  const auto members = choose_members(groups, run, logger);
  const auto& best = members.front();
  const auto& first = groups.of(0, best.kind);
  const auto& request = first.request(run);
  const auto& rows = first.rows();
  const auto& trainer = first.trainer();
  FitResult result{.model = {.columns = rows.columns,
                             .context_columns = request.data.context,
                             .context_levels = rows.train.context_levels,
                             .parts = groups.parts_of_model(0, members),
                             .calibration = calibration_of(groups, members),
                             .dependence = {},
                             .record = {}},
                   .epochs = groups.epochs(run),
                   .best_epoch = trainer.best_epoch(best.replica),
                   .valid_score = trainer.valid_score()};
  auto& model = result.model;
  model.minus_nine = rows.minus_nine;
  model.further_parameters.resize(members.size() - 1);
  result.valid_nll_nats = valid_nll(groups, members, model);
  Array parameters_of_best;
  LatentResult latents_of_best;
  const auto score_key = valid_score_key(result.valid_score);
  auto described = nlohmann::json::array();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto trained =
        groups.trainer_of(0, members[i]).best_parameters(members[i].replica);
    const auto latents = model.member(static_cast<std::int64_t>(i))
                             .to_latent(rows.train.data, rows.train.context);
    const auto parameters = likely_parameters(first.dependence(), request,
                                              latents.latents, trained, logger);
    auto learned = first.dependence().with_parameters(parameters);
    if (i == 0) {
      parameters_of_best = parameters;
      latents_of_best = latents;
      model.dependence = std::move(learned);
    } else {
      model.further_parameters[i - 1] = std::move(learned.parameters);
    }
    described.push_back(groups.describe(0, members[i], score_key));
  }
  model.record = {{"kinflow_version", version()},
                  {"request", record["request"]},
                  {"data_hash", record["data_hash"]},
                  {"train_rows", rows.train.data.size(0)},
                  {"valid_rows", rows.valid.data.size(0)},
                  {"dropped_rows", rows.dropped_rows},
                  {"valid_score", name_of(valid_score_names(), result.valid_score)},
                  {"epochs", result.epochs},
                  {"best_epoch", result.best_epoch},
                  {"best_replica", first.number_of(best.replica)},
                  {score_key, result.valid_nll_nats},
                  {"skipped_steps", trainer.skipped_steps(best.replica)},
                  {"restarts", groups.restarts(run)},
                  {"lost_replicas", groups.lost_replicas(run)},
                  {"members", std::move(described)}};
  if (request.inference) {
    add_inference(first.dependence(), parameters_of_best, latents_of_best, model,
                  logger);
    if (model.members() > 1) model.record["inference"]["member"] = "best";
  }
  return result;
}

}  // namespace kinflow
