// Names of enumerations, and options as JSON.
#include "kinflow/engine/names.h"

#include <nlohmann/json.hpp>

#include "kinflow/core/json_reader.h"

namespace kinflow {
namespace {

constexpr std::int64_t kManyColumns = 100'000;

}  // namespace

const Names<FlowKind>& flow_kind_names() {
  static const Names<FlowKind> names = {{"spline", FlowKind::spline},
                                        {"affine", FlowKind::affine}};
  return names;
}

const Names<Permutation>& permutation_names() {
  static const Names<Permutation> names = {{"alternating", Permutation::alternating},
                                           {"random", Permutation::random}};
  return names;
}

const Names<Schedule>& schedule_names() {
  static const Names<Schedule> names = {{"baseline", Schedule::baseline},
                                        {"grid", Schedule::grid},
                                        {"joint", Schedule::joint},
                                        {"alternating", Schedule::alternating}};
  return names;
}

const Names<Estimator>& estimator_names() {
  static const Names<Estimator> names = {{"pairs", Estimator::pairs},
                                         {"memory", Estimator::memory},
                                         {"hybrid", Estimator::hybrid}};
  return names;
}

nlohmann::json to_json(const FlowOptions& options) {
  nlohmann::json json = {
      {"kind", name_of(flow_kind_names(), options.kind)},
      {"dimension", options.dimension},
      {"context", options.context},
      {"layers", options.layers},
      {"hidden", options.hidden},
      {"bins", options.bins},
      {"bound", options.bound},
      {"permutation", name_of(permutation_names(), options.permutation)},
      {"permutation_seed", options.permutation_seed}};
  if (options.latent_map) json["latent_map"] = true;
  return json;
}

FlowOptions flow_options_from(const JsonReader& json) {
  return {
      .kind = json.one_of("kind", flow_kind_names()),
      .dimension = json.integer("dimension", 1, kManyColumns),
      .context = json.integer("context", 0, kManyColumns),
      .layers = json.integer("layers", 1, 1000),
      .hidden = json.integers("hidden", 1, kManyColumns),
      .bins = json.integer("bins", 2, kMaximumSplineBins),
      .bound = json.number("bound", 1e-3, 1e6),
      .permutation = json.one_of("permutation", permutation_names()),
      .permutation_seed = json.seed("permutation_seed"),
      // Only flows that have one say so.
      .latent_map = json.json().contains("latent_map") && json.boolean("latent_map")};
}

nlohmann::json to_json(const SharedTrainOptions& options) {
  return {{"schedule", name_of(schedule_names(), options.schedule)},
          {"estimator", name_of(estimator_names(), options.estimator)},
          {"epochs", options.epochs},
          {"batch_size", options.batch_size},
          {"patience", options.patience},
          {"seed", options.seed},
          {"dependence_rate", options.dependence_rate},
          {"prior", options.prior},
          {"grid", options.grid},
          {"stage_epochs", options.stage_epochs}};
}

SharedTrainOptions train_options_from(const JsonReader& json) {
  return {.schedule = json.one_of("schedule", schedule_names()),
          .estimator = json.one_of("estimator", estimator_names()),
          .epochs = json.integer("epochs", 1, kManySteps),
          .batch_size = json.integer("batch_size", 2, kManySteps),
          .patience = json.integer("patience", 1, kManySteps),
          .seed = json.seed("seed"),
          .dependence_rate = json.number("dependence_rate", 0, kLargestRate),
          .prior = json.number("prior", 0, kLargestRate),
          .grid = json.numbers("grid", kSmallestParameter, kLargestParameter),
          .stage_epochs = json.integer("stage_epochs", 1, kManySteps)};
}

nlohmann::json to_json(const ReplicaOptions& options) {
  return {{"count", options.count},
          {"learning_rates", options.learning_rates},
          {"weight_decays", options.weight_decays},
          {"memory_shares", options.memory_shares},
          {"starts", options.starts}};
}

ReplicaOptions replica_options_from(const JsonReader& json) {
  return {.count = json.integer("count", 0, kMostReplicas),
          .learning_rates = json.numbers("learning_rates", 0, kLargestRate),
          .weight_decays = json.numbers("weight_decays", 0, kLargestRate),
          .memory_shares = json.numbers("memory_shares", 0, 1),
          .starts = json.numbers("starts", kSmallestParameter, kLargestParameter)};
}

}  // namespace kinflow
