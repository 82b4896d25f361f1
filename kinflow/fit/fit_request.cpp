// Requests as JSON: every option with its value stands in run.json.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/names.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/flow_choices.h"

namespace kinflow {
namespace {

nlohmann::json bounds_to_json(const std::vector<BoundedColumn>& bounds) {
  auto texts = nlohmann::json::array();
  for (const auto& bounded : bounds) texts.push_back(text_of(bounded));
  return texts;
}

// Records of earlier versions have none.
std::vector<BoundedColumn> bounds_from(const JsonReader& data,
                                       const std::string& source) {
  std::vector<BoundedColumn> bounds;
  if (!data.json().contains("bounds")) return bounds;
  for (const auto& text : data.texts("bounds")) {
    bounds.push_back(read_bounded_column(text, source + ": key 'data.bounds'"));
  }
  return bounds;
}

// The values that the paper's grid search tries.
const std::vector<double> kRhoGrid = {0.01,  0.025, 0.05, 0.1,  0.175, 0.25,
                                      0.375, 0.5,   0.6,  0.67, 0.75,  0.9};
const std::vector<double> kLambdaGrid = {0.99,  0.975, 0.95, 0.9,  0.825, 0.75,
                                         0.625, 0.5,   0.4,  0.33, 0.25,  0.1};

// Where dependence parameters begin: correlations, and shares of variance.
constexpr double kRhoStart = 0.3;
constexpr double kShareStart = 0.5;

}  // namespace

const Names<HoldOutBy>& split_by_names() {
  static const Names<HoldOutBy> names = {{"dependence", HoldOutBy::dependence},
                                         {"group", HoldOutBy::group},
                                         {"rows", HoldOutBy::rows},
                                         {"time", HoldOutBy::time}};
  return names;
}

const Names<ScoresUse>& scores_use_names() {
  static const Names<ScoresUse> names = {
      {"no", ScoresUse::no}, {"yes", ScoresUse::yes}, {"choose", ScoresUse::choose}};
  return names;
}

SharedTrainOptions default_train_options(const DependenceRequest& dependence,
                                         std::optional<Estimator> estimator) {
  SharedTrainOptions options;
  // Pairs of a matrix that is only multiplied cost a solution for every row.
  const bool wants_memory = has_few_relatives(dependence) ||
                            dependence.solver == RelationshipSolver::iterative;
  options.estimator =
      estimator.value_or(wants_memory ? Estimator::memory : Estimator::hybrid);
  // The noise of pairs makes validation too rough for patience, and wants small steps.
  if (options.estimator != Estimator::memory) options.patience = kManySteps;
  if (options.estimator == Estimator::pairs) options.dependence_rate = 1;
  return options;
}

FitRequest with_defaults(FitRequest request) {
  auto& data = request.data;
  auto& train = request.train;
  const auto& dependence = data.dependence;
  check_dependence(dependence);
  const auto kind = kind_of(dependence);
  const bool by_group = !dependence.group.empty();
  if (kind == DependenceKind::independent) train.schedule = Schedule::baseline;
  data.split_by =
      data.split_by.value_or(kind == DependenceKind::independent ? HoldOutBy::rows
                             : kind == DependenceKind::time      ? HoldOutBy::time
                                                            : HoldOutBy::dependence);
  if (data.split_by == HoldOutBy::group && !by_group) {
    throw InputError(
        "--split-by: expected dependence, rows or time without --group, found group");
  }
  if (data.split_by == HoldOutBy::dependence && kind == DependenceKind::independent) {
    throw InputError(
        "--split-by: expected rows or time without a dependence, found dependence; "
        "--fold-by COLUMN holds rows with the same label out together");
  }
  if (data.split_by == HoldOutBy::time && dependence.time.empty()) {
    throw InputError("--split-by time: expected --time COLUMN, found none");
  }
  if (dependence.time_decay.size() > 1 && train.schedule != Schedule::grid) {
    throw InputError(fmt::format(
        "--time-decay: expected one value (several need --schedule grid), found {}",
        dependence.time_decay.size()));
  }
  if (kind == DependenceKind::unstructured && train.schedule == Schedule::grid) {
    throw InputError(
        "--schedule: expected joint, alternating or baseline with --unstructured, "
        "found "
        "grid");
  }
  if (kind == DependenceKind::unstructured && data.valid_table.empty()) {
    throw InputError(
        "--unstructured: expected --valid TABLE, since the dependence belongs to all "
        "rows of the training table, found none");
  }
  if (dependence.correlation == BlockCorrelation::pooled && train.prior != 0 &&
      train.prior != 1) {
    throw InputError(fmt::format(
        "--prior: expected 0 or 1 with --correlation pooled, found {}", train.prior));
  }
  if (train.grid.empty()) {
    train.grid = kind == DependenceKind::blocks ? kRhoGrid : kLambdaGrid;
  }
  if (!data.valid_table.empty()) data.folds = 1;
  request.flow.latent_map =
      request.latent_map && has_own_latents(dependence) &&
      (train.schedule == Schedule::joint || train.schedule == Schedule::alternating);
  request.vary_flow =
      request.vary_flow && data.valid_table.empty() && train.schedule != Schedule::grid;
  request.row_flows =
      request.row_flows && data.folds != 1 && kind != DependenceKind::independent &&
      (train.schedule == Schedule::joint || train.schedule == Schedule::alternating);
  if (data.folds != 1 && request.ensemble != 1) {
    throw InputError(
        "--ensemble: expected --valid or --folds 1, found several folds, whose best "
        "flows are the members (--per-fold)");
  }
  if (data.folds != 1 &&
      (data.folds == 0 ? kDefaultFolds : data.folds) * request.per_fold >
          kLargestEnsemble) {
    throw InputError(
        fmt::format("--per-fold: expected at most {} members of all folds together, "
                    "found {} of each",
                    kLargestEnsemble, request.per_fold));
  }
  auto& replicas = request.replicas;
  if (replicas.count == 0) {
    replicas.count = train.schedule == Schedule::grid ? 1
                     : request.vary_flow              ? kVariedReplicas
                                                      : kDefaultReplicas;
  }
  request.vary_flow = request.vary_flow && replicas.count > 1;
  if (request.normal_scores == ScoresUse::choose &&
      (replicas.count == 1 || train.schedule == Schedule::grid ||
       !request.standardize)) {
    request.normal_scores = ScoresUse::no;
  }
  if (request.normal_scores == ScoresUse::yes && !request.standardize) {
    throw InputError(
        "--normal-scores: expected standardised columns with yes, found "
        "--no-standardize");
  }
  const auto fill = [](std::vector<double>& list, const std::vector<double>& values) {
    if (list.empty()) list = values;
  };
  fill(replicas.learning_rates, {0.01, 0.03});
  // The noise of pairs is enough against fitting the sample too closely.
  fill(replicas.weight_decays, train.estimator == Estimator::memory
                                   ? std::vector{0.001, 0.01}
                                   : std::vector{0.001});
  fill(replicas.memory_shares, {0.25, 0});
  fill(replicas.starts, {kind == DependenceKind::blocks ? kRhoStart : kShareStart});
  // Reading checks every range.
  return fit_request_from(to_json(request), "fit");
}

std::vector<ReplicaPlan> plan_replicas(const FitRequest& request) {
  const auto& given = request.replicas;
  // Takes a number's last digit, of as many values as there are, off the number.
  const auto next = [](std::size_t& rest, const std::vector<double>& values) {
    const auto value = values[rest % values.size()];
    rest /= values.size();
    return value;
  };
  const auto kinds = flow_choices(request).size();
  std::vector<ReplicaPlan> plans;
  for (std::int64_t replica = 0; replica < given.count; ++replica) {
    TrainOptions options{request.train, {}};
    auto rest = static_cast<std::size_t>(replica);
    const auto kind = rest % kinds;
    rest /= kinds;
    options.learning_rate = next(rest, given.learning_rates);
    // The dependence learns at the same pace in all of them.
    if (options.learning_rate > 0) {
      options.dependence_rate *= given.learning_rates.front() / options.learning_rate;
    }
    options.weight_decay = next(rest, given.weight_decays);
    options.memory_share = given.memory_shares.front();
    if (options.estimator == Estimator::hybrid) {
      options.memory_share = next(rest, given.memory_shares);
    }
    options.start = next(rest, given.starts);
    const auto seed = options.seed;
    plans.push_back(
        {.options = std::move(options),
         .weights_seed = replica == 0
                             ? seed
                             : Random(seed, stream(Purpose::replicas, replica)).next(),
         .kind = kind});
  }
  return plans;
}

nlohmann::json to_json(const FitRequest& request) {
  const auto& data = request.data;
  nlohmann::json json = {
      {"data",
       {{"table", data.table},
        {"valid_table", data.valid_table},
        {"columns", data.columns},
        {"context", data.context},
        {"split_by",
         name_of(split_by_names(), data.split_by.value_or(HoldOutBy::rows))},
        {"folds", data.folds},
        {"fold_by", data.fold_by},
        {"valid_fraction", data.valid_fraction},
        {"drop_missing", data.drop_missing},
        {"minus_nine", name_of(minus_nine_names(), data.minus_nine)},
        {"allow_ties", data.allow_ties},
        {"bounds", bounds_to_json(data.bounds)}}},
      {"dependence", to_json(data.dependence)},
      {"flow", to_json(request.flow)},
      {"vary_flow", request.vary_flow},
      {"latent_map", request.latent_map},
      {"float64", request.float64},
      {"inference", request.inference},
      {"ensemble", request.ensemble},
      {"per_fold", request.per_fold},
      {"row_flows", request.row_flows},
      {"device", request.device},
      {"threads", request.threads},
      {"standardize", request.standardize},
      {"normal_scores", name_of(scores_use_names(), request.normal_scores)},
      {"calibrate", request.calibrate},
      {"train", to_json(request.train)},
      {"replicas", to_json(request.replicas)}};
  // Dimension and bound follow from the data unless the bound was given.
  json["flow"].erase("dimension");
  json["flow"].erase("context");
  json["flow"]["bound"] = request.bound ? nlohmann::json(*request.bound) : "from data";
  return json;
}

FitRequest fit_request_from(const nlohmann::json& json, const std::string& source) {
  const JsonReader reader(json, source);
  const auto data = reader.object("data");
  FitRequest request;
  request.data = {
      .table = data.text("table"),
      .valid_table = data.text("valid_table"),
      .columns = data.texts("columns"),
      .context = data.texts("context"),
      .dependence = dependence_request_from(reader.object("dependence")),
      .split_by = data.one_of("split_by", split_by_names()),
      // Records of earlier versions have no folds.
      .folds = data.json().contains("folds") ? data.integer("folds", 0, kMostFolds) : 1,
      .fold_by = data.json().contains("fold_by") ? data.text("fold_by") : "",
      .valid_fraction =
          data.number("valid_fraction", kSmallestValidFraction, kLargestValidFraction),
      .drop_missing = data.boolean("drop_missing"),
      .minus_nine = data.json().contains("minus_nine")
                        ? data.one_of("minus_nine", minus_nine_names())
                        : MinusNine::value,
      .allow_ties = data.json().contains("allow_ties") ? data.texts("allow_ties")
                                                       : std::vector<std::string>{},
      .bounds = bounds_from(data, source)};
  auto flow = reader.object("flow").json();
  flow["dimension"] = 1;
  flow["context"] = 0;
  if (flow["bound"].is_string()) {
    flow["bound"] = request.flow.bound;
  } else {
    request.bound = reader.object("flow").number("bound", 1e-3, 1e6);
  }
  request.flow = flow_options_from(JsonReader(flow, source, "flow"));
  request.vary_flow = json.contains("vary_flow") && reader.boolean("vary_flow");
  if (json.contains("latent_map")) request.latent_map = reader.boolean("latent_map");
  request.float64 = reader.boolean("float64");
  request.inference = reader.boolean("inference");
  request.ensemble = reader.integer("ensemble", 1, kLargestEnsemble);
  if (reader.json().contains("per_fold")) {
    request.per_fold = reader.integer("per_fold", 1, kLargestEnsemble);
  }
  request.row_flows = json.contains("row_flows") && reader.boolean("row_flows");
  request.device = reader.text("device");
  request.threads = reader.integer("threads", 1, 4096);
  request.standardize = reader.boolean("standardize");
  // Records of earlier versions have none.
  if (json.contains("normal_scores")) {
    request.normal_scores = reader.one_of("normal_scores", scores_use_names());
  }
  request.calibrate = reader.boolean("calibrate");
  request.train = train_options_from(reader.object("train"));
  request.replicas = replica_options_from(reader.object("replicas"));
  return request;
}

}  // namespace kinflow
