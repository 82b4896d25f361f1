// Declaring the options of a fit and turning them into a request.
#include "fit_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/fit/flow_choices.h"

namespace kinflow::cli {
namespace {

constexpr const char* kVariedFlow = "auto";

}  // namespace

bool FitGiven::names_flow() const {
  return (!flow.empty() && flow != kVariedFlow) || layers || bins || !hidden.empty();
}

FitRequest FitGiven::resolve() const {
  FitRequest made = request;
  auto& data = made.data;
  if (dependence.any() == independent) {
    throw InputError(
        "fit: expected a dependence (--group, --relationship, --relationship-pcs, "
        "--time-kernel or --unstructured) or --independent, found " +
        std::string(independent ? "both" : "neither"));
  }
  data.table = absolute(data.table);
  data.valid_table = absolute(data.valid_table);
  data.dependence = dependence.resolve();
  data.minus_nine = minus_nine.value_or(data.minus_nine);
  auto ranges = bounds, above_zero = positive;
  find_names(data.table,
             {&data.columns, &data.context, &data.dependence.id, &ranges, &above_zero});
  for (const auto& text : ranges) {
    data.bounds.push_back(read_bounded_column(text, "--bounds"));
  }
  for (const auto& column : above_zero) {
    data.bounds.push_back({.column = column, .bounds = {.low = 0}});
  }
  data.dependence.correlation = chosen(block_correlation_names(), correlation);
  if (!split_by.empty()) data.split_by = chosen(split_by_names(), split_by);
  auto& train = made.train;
  std::optional<Estimator> asked;
  if (!estimator.empty()) asked = chosen(estimator_names(), estimator);
  const auto defaults = default_train_options(data.dependence, asked);
  train.estimator = defaults.estimator;
  train.patience = patience.value_or(defaults.patience);
  train.dependence_rate = dependence_rate.value_or(defaults.dependence_rate);
  train.schedule = chosen(schedule_names(), schedule);
  made.vary_flow = !names_flow();
  made.normal_scores = chosen(scores_use_names(), normal_scores);
  if (!flow.empty() && flow != kVariedFlow) {
    made.flow.kind = chosen(flow_kind_names(), flow);
  }
  made.flow.layers = layers.value_or(made.flow.kind == FlowKind::spline ? 3 : 8);
  made.flow.bins = bins.value_or(made.flow.bins);
  if (!hidden.empty()) made.flow.hidden = hidden;
  made.flow.permutation = chosen(permutation_names(), permutation);
  made.flow.permutation_seed = train.seed;
  made.float64 = precision == "float64";
  return with_defaults(made);
}

namespace {

std::string schedule_of(const FitChoice& choice) {
  return "--schedule " + name_of(schedule_names(), choice.request.train.schedule);
}

// Empty where the dependence has parameters that are trained or tried.
std::string taken_as_independent(const FitChoice& choice) {
  if (choice.typed.independent) return "--independent";
  return choice.request.train.schedule == Schedule::baseline ? schedule_of(choice) : "";
}

std::string unless_schedule(const FitChoice& choice,
                            std::initializer_list<Schedule> wanted) {
  const auto found = choice.request.train.schedule;
  return std::find(wanted.begin(), wanted.end(), found) != wanted.end()
             ? ""
             : schedule_of(choice);
}

std::string valid_table(const FitChoice& choice) {
  const auto& table = choice.request.data.valid_table;
  return table.empty() ? "" : "--valid " + table;
}

}  // namespace

const std::vector<EffectRule<FitChoice>>& fit_rules() {
  using Choice = FitChoice;
  static const std::vector<EffectRule<Choice>> rules = {
      {{"--flow"},
       "spline or affine beside --layers, --hidden and --bins",
       [](const Choice& c) {
         return c.typed.flow == kVariedFlow && c.typed.names_flow() ? "auto" : "";
       }},
      {{"--flow"},
       "spline or affine where there is one kind",
       [](const Choice& c) -> std::string {
         if (c.typed.flow != kVariedFlow || c.request.vary_flow) return "";
         const auto why = valid_table(c);
         return "auto beside " + (!why.empty() ? why
                                  : c.request.train.schedule == Schedule::grid
                                      ? schedule_of(c)
                                      : "one replica");
       }},
      {{"--normal-scores"},
       "yes or no",
       [](const Choice& c) -> std::string {
         const bool is_dropped = c.typed.normal_scores == "choose" &&
                                 c.request.normal_scores == ScoresUse::no;
         if (!is_dropped) return "";
         return "choose beside " +
                std::string(!c.request.standardize ? "--no-standardize"
                            : c.request.train.schedule == Schedule::grid
                                ? schedule_of(c)
                                : "one replica");
       }},
      {{"--permutation"},
       "--flow spline or --flow affine",
       [](const Choice& c) { return c.request.vary_flow ? "flows of all kinds" : ""; }},
      {{"--bins", "--bound"},
       "--flow spline",
       [](const Choice& c) {
         return c.request.flow.kind == FlowKind::spline ? "" : "--flow affine";
       }},
      {{"--split-by", "--valid-fraction", "--fold-by", "--per-fold", "--row-flows"},
       "no --valid, whose rows are the validation rows,",
       valid_table},
      {{"--folds"},
       "1 or no --valid, whose rows are the validation rows,",
       [](const Choice& c) {
         return c.typed.request.data.folds == 1 ? "" : valid_table(c);
       }},
      {{"--fold-by"},
       "another way to split than by time",
       [](const Choice& c) {
         return c.request.data.split_by == HoldOutBy::time ? "a split by time" : "";
       }},
      {{"--valid-fraction"},
       "--folds 1",
       [](const Choice& c) {
         return c.request.data.folds == 1 ? "" : "several folds";
       }},
      {{"--per-fold", "--row-flows"},
       "several folds",
       [](const Choice& c) { return c.request.data.folds == 1 ? "--folds 1" : ""; }},
      {{"--no-calibrate"},
       "--valid TABLE",
       [](const Choice& c) {
         return c.request.data.valid_table.empty() ? "none" : "";
       }},
      {{"--time"},
       "--time-kernel or --split-by time",
       [](const Choice& c) {
         const auto& data = c.request.data;
         const bool splits =
             data.split_by == HoldOutBy::time && data.valid_table.empty();
         return data.dependence.time_kernel || splits ? "" : "neither";
       }},
      {{"--correlation"},
       "--group",
       [](const Choice& c) {
         return c.request.data.dependence.group.empty() ? "none" : "";
       }},
      {{"--correlation"},
       "no other dependence than --group",
       [](const Choice& c) {
         const auto kind = kind_of(c.request.data.dependence);
         return kind == DependenceKind::sum ? "a sum of dependences" : "";
       }},
      {{"--share-per-latent"},
       "a dependence other than --unstructured",
       [](const Choice& c) {
         const auto& dependence = c.request.data.dependence;
         return dependence.unstructured ? "--unstructured" : "";
       }},
      {{"--share-per-latent"},
       "--relationship, --relationship-pcs or --time-kernel, or --correlation "
       "per-latent",
       [](const Choice& c) {
         return kind_of(c.request.data.dependence) == DependenceKind::blocks
                    ? "--group alone"
                    : "";
       }},
      {{"--latent-map"},
       "--correlation per-latent or per-block-and-latent, or --share-per-latent",
       [](const Choice& c) {
         const auto& dependence = c.request.data.dependence;
         const auto kind = kind_of(dependence);
         const bool is_open =
             (kind == DependenceKind::blocks && !dependence.correlation) ||
             ((kind == DependenceKind::relationship || kind == DependenceKind::time) &&
              !dependence.per_latent);
         return is_open || has_own_latents(dependence) ? "" : "neither";
       }},
      {{"--schedule"},
       "a dependence",
       [](const Choice& c) {
         return c.typed.independent && c.typed.schedule != "baseline" ? "--independent"
                                                                      : "";
       }},
      {{"--correlation", "--share-per-latent", "--latent-map", "--row-flows",
        "--estimator", "--start", "--prior", "--dependence-rate", "--memory-share"},
       "a dependence that is trained",
       taken_as_independent},
      {{"--correlation", "--share-per-latent", "--latent-map", "--row-flows", "--start",
        "--prior"},
       "--schedule joint or alternating",
       [](const Choice& c) {
         return unless_schedule(c, {Schedule::joint, Schedule::alternating});
       }},
      {{"--dependence-rate"},
       "--schedule joint",
       [](const Choice& c) { return unless_schedule(c, {Schedule::joint}); }},
      {{"--grid"},
       "--schedule grid",
       [](const Choice& c) { return unless_schedule(c, {Schedule::grid}); }},
      {{"--stage-epochs"},
       "--schedule alternating",
       [](const Choice& c) { return unless_schedule(c, {Schedule::alternating}); }},
      {{"--start"},
       "another dependence than --unstructured, which has a start of its own,",
       [](const Choice& c) {
         return c.request.data.dependence.unstructured ? "--unstructured" : "";
       }},
      {{"--memory-share"}, "--estimator hybrid", [](const Choice& c) -> std::string {
         const auto found = c.request.train.estimator;
         return found == Estimator::hybrid
                    ? ""
                    : "--estimator " + name_of(estimator_names(), found);
       }}};
  return rules;
}

std::vector<IdleOption> find_idle_values(const CLI::App& verb,
                                         const FitRequest& request) {
  const auto& replicas = request.replicas;
  const std::vector<double> one_share = {0};
  const bool is_hybrid = request.train.estimator == Estimator::hybrid;
  const std::pair<const char*, const std::vector<double>*> lists[] = {
      {"--learning-rate", &replicas.learning_rates},
      {"--weight-decay", &replicas.weight_decays},
      {"--memory-share", is_hybrid ? &replicas.memory_shares : &one_share},
      {"--start", &replicas.starts}};
  std::vector<IdleOption> idle;
  // Replicas from a value of the list to the next one.
  auto stride = std::ssize(flow_choices(request));
  for (const auto& [name, values] : lists) {
    const auto count = std::max<std::int64_t>(1, std::ssize(*values));
    const auto needed = 1 + stride * (count - 1);
    stride *= count;
    if (!is_given(verb, name) || replicas.count >= needed) continue;
    idle.push_back(
        {name, fmt::format("{}: expected --replicas {} or more, so that all of its "
                           "values are taken, found {}",
                           name, needed, replicas.count)});
  }
  return idle;
}

std::vector<IdleOption> find_idle_fit_options(const CLI::App& verb,
                                              const FitChoice& choice) {
  auto idle = find_idle_options(verb, fit_rules(), choice);
  const auto values = find_idle_values(verb, choice.request);
  idle.insert(idle.end(), values.begin(), values.end());
  for (const auto* rules : {&dependence_rules(), &id_rules()}) {
    const auto more = find_idle_options(verb, *rules, choice.request.data.dependence);
    idle.insert(idle.end(), more.begin(), more.end());
  }
  return idle;
}

namespace {

void add_data_options(CLI::App& verb, FitGiven& given) {
  auto& data = given.request.data;
  verb.add_option("table", data.table, "Training table: .csv, .tsv or .npy");
  add_dependence_options(verb, given.dependence);
  add_choice(
      verb, "--correlation", given.correlation, block_correlation_names(),
      "With --group: one correlation for all blocks, one for each, one for each size, "
      "one for each under a common distribution that is learned, one for each latent, "
      "or an effect of each block and one of each latent; choose: by held-out blocks");
  verb.add_flag("--independent", given.independent, "Rows are independent");
  verb.add_option("--valid", data.valid_table,
                  "Validation table (default: parts of the training table in turn)");
  add_names(verb, "--columns", data.columns,
            "Columns to model, comma-separated (default: all without another role)");
  add_names(verb, "--context", data.context,
            "Columns to condition on, comma-separated");
  add_names(
      verb, "--bounds", given.bounds,
      "Columns whose values lie between bounds, as age=18:,score=0:100; draws stay "
      "inside");
  add_names(verb, "--positive", given.positive,
            "Columns whose values are above 0, comma-separated: the same as COLUMN=0:");
  add_choice(verb, "--split-by", given.split_by, split_by_names(),
             "Which rows are held out together (default: those that depend on each "
             "other; time for a kernel of time; rows with --independent)");
  verb.add_option("--fold-by", data.fold_by,
                  "Column whose equal labels are held out together as well");
  verb.add_flag("--drop-missing", data.drop_missing,
                "Leave out rows with missing values");
  add_minus_nine(verb, given.minus_nine,
                 "What -9 stands for (default: careful, which asks where the column "
                 "leaves doubt)");
}

void add_model_options(CLI::App& verb, FitGiven& given) {
  verb.add_option("--flow", given.flow,
                  "Kind of flow; auto: large and small splines and affine flows side "
                  "by side, of which held-out rows choose (default: auto; spline with "
                  "--valid, --grid or a size)")
      ->check(one_of({kVariedFlow, "spline", "affine"}));
  verb.add_option("--layers", given.layers,
                  "Coupling layers (default: 3 for spline, 8 for affine)")
      ->check(integer_in(1, 1000));
  add_list(verb, "--hidden", given.hidden,
           "Widths of the networks, comma-separated (default: 64,64)")
      ->check(integer_in(1, 100'000));
  verb.add_option("--bins", given.bins, "Bins of the splines (default: 16)")
      ->check(integer_in(2, kMaximumSplineBins));
  verb.add_option(
          "--bound", given.request.bound,
          "Splines act on [-bound, bound] standard deviations (default: from data)")
      ->check(number_in(1e-3, 1e6));
  add_choice(verb, "--permutation", given.permutation, permutation_names(),
             "Columns that a layer maps, of more than two");
  verb.add_option("--precision", given.precision, "Arithmetic of the flow")
      ->check(one_of({"float32", "float64"}));
}

void add_training_options(CLI::App& verb, FitGiven& given) {
  auto& train = given.request.train;
  auto& replicas = given.request.replicas;
  verb.add_option(
          "--replicas", replicas.count,
          "Flows to train side by side, of which validation chooses (default: 16 of "
          "several kinds, 8 of one kind, 1 for each value of a grid and in a sweep)")
      ->check(integer_in(1, kMostReplicas))
      ->default_str("");
  add_choice(verb, "--schedule", given.schedule, schedule_names(),
             "How flow and dependence are trained");
  add_choice(verb, "--estimator", given.estimator, estimator_names(),
             "Gradient estimator (default: memory where a row depends on few others, "
             "else hybrid)");
  verb.add_option("--epochs", train.epochs, "Passes over the data")
      ->check(integer_in(1, kManySteps));
  verb.add_option("--batch-size", train.batch_size, "Rows of a step")
      ->check(integer_in(2, kManySteps));
  add_list(
      verb, "--learning-rate", replicas.learning_rates,
      "Adamax step at the beginning (default: 0.01,0.03); replicas take several in "
      "turn")
      ->check(number_in(0, kLargestRate));
  add_list(
      verb, "--weight-decay", replicas.weight_decays,
      "On the flow's weights, the first layers of its networks excepted (default: "
      "0.001,0.01 with the memory estimator, else 0.001); replicas take several in "
      "turn")
      ->check(number_in(0, kLargestRate));
  verb.add_option("--patience", given.patience,
                  "Epochs without a better validation NLL before stopping (default: 30 "
                  "with the memory estimator, else all)")
      ->check(integer_in(1, kManySteps));
  add_list(verb, "--start", replicas.starts,
           "First value of rho, lambda or the own share of a sum (default: rho 0.3, "
           "else 0.5); replicas take several in turn")
      ->check(number_in(kSmallestParameter, kLargestParameter));
  verb.add_option(
          "--dependence-rate", given.dependence_rate,
          "Learning rate of rho or lambda in all replicas, as a multiple of the first "
          "--learning-rate (default: 10; 1 with the pairs estimator)")
      ->check(number_in(0, kLargestRate));
  verb.add_option("--prior", train.prior,
                  "Beta(1 + prior, 1 + prior) prior of rho or lambda; 0: none")
      ->check(number_in(0, kLargestRate));
  add_list(
      verb, "--memory-share", replicas.memory_shares,
      "Estimator hybrid: share of memory in the flow's gradient (default: 0.25,0); "
      "replicas take several in turn")
      ->check(number_in(0, 1));
  add_list(verb, "--grid", train.grid,
           "Values of rho, lambda or the own share of a sum for --schedule grid, "
           "comma-separated (default: the paper's 12)")
      ->check(number_in(kSmallestParameter, kLargestParameter));
  verb.add_option("--stage-epochs", train.stage_epochs,
                  "Schedule alternating: epochs of the flow before rho or lambda "
                  "become the most likely ones")
      ->check(integer_in(1, kManySteps));
  add_seed(verb, train.seed, "Seed of weights, row order and split");
}

}  // namespace

void add_flow_options(CLI::App& verb, FitGiven& given) {
  // CLI11 takes an optional flag for a count, which it sets to 0.
  verb.add_flag_function(
      "--share-per-latent,!--no-share-per-latent",
      [&given](std::int64_t count) { given.dependence.request.per_latent = count > 0; },
      "Whether every latent has its own lambda, gamma or weights (default: of one "
      "relationship or a kernel of time the likelihood chooses; of a sum they share "
      "them)");
  verb.add_flag("--latent-map,!--no-latent-map", given.request.latent_map,
                "Whether flows end in a linear map of the latents where these have "
                "dependences of their own (default: they do)");
  add_list(verb, "--allow-ties", given.request.data.allow_ties,
           "Columns of which a flow takes many rows with one value, comma-separated");
  verb.add_option("--folds", given.request.data.folds,
                  "Parts of the rows that are held out in turn (default: 5; 1 for a "
                  "dense matrix of more than 5,000 rows); 1: one part, once")
      ->check(integer_in(1, kMostFolds))
      ->default_str("");
  verb.add_option("--per-fold", given.request.per_fold,
                  "Flows of each fold that become members of the model")
      ->check(integer_in(1, kLargestEnsemble));
  verb.add_option("--valid-fraction", given.request.data.valid_fraction,
                  "Share of rows held out with --folds 1")
      ->check(number_in(kSmallestValidFraction, kLargestValidFraction));
  add_model_options(verb, given);
  add_training_options(verb, given);
}

void add_fit_options(CLI::App& verb, FitGiven& given) {
  add_data_options(verb, given);
  add_flow_options(verb, given);
  verb.add_flag(
      "--row-flows,!--no-row-flows", given.request.row_flows,
      "With several folds: also train flows as if rows were independent, which "
      "join the members for single rows where held-out rows are more likely "
      "with them (default: do)");
  verb.add_flag("!--no-standardize", given.request.standardize,
                "Do not centre and scale the columns");
  add_choice(
      verb, "--normal-scores", given.normal_scores, scores_use_names(),
      "Map each column to normal scores before the flow: in all replicas, in none, "
      "or in some, of which validation chooses");
  verb.add_flag("!--no-calibrate", given.request.calibrate,
                "Rows of --valid choose among flows and epochs only, and do not place "
                "the latents");
  verb.add_option("--ensemble", given.request.ensemble,
                  "With --valid or --folds 1: members of the model, a mixture of the "
                  "best flows of the run")
      ->check(integer_in(1, kLargestEnsemble));
  verb.add_flag("!--no-inference", given.request.inference,
                "No standard errors, intervals and tests at the end");
}

}  // namespace kinflow::cli
