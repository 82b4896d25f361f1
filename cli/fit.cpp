// kinflow fit: train a flow on dependent rows.
#include "kinflow/train/fit.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "kinflow/core/error.h"
#include "options.h"

namespace kinflow::cli {
namespace {

// What was typed.
struct Given {
  FitRequest request;
  std::string resume, out;
  double checkpoint_seconds = FitPlace{}.checkpoint_seconds;
  bool independent = false;
  std::string schedule = "joint", flow = "spline", permutation = "alternating";
  std::string correlation = "per-block", precision = "float32";
  std::string estimator, split_by;
  DependenceGiven dependence;
  std::optional<std::int64_t> layers, patience;
  std::optional<double> start, dependence_rate;
};

FitRequest resolve(const Given& given) {
  FitRequest request = given.request;
  auto& data = request.data;
  if (given.dependence.any() == given.independent) {
    throw InputError(
        "fit: expected a dependence (--group, --relationship, --relationship-pcs, "
        "--time-kernel or --unstructured) or --independent, found " +
        std::string(given.independent ? "both" : "neither"));
  }
  data.table = absolute(data.table);
  data.valid_table = absolute(data.valid_table);
  data.dependence = given.dependence.resolve();
  data.dependence.correlation = chosen(block_correlation_names(), given.correlation);
  if (!given.split_by.empty()) data.split_by = chosen(split_by_names(), given.split_by);
  auto& train = request.train;
  std::optional<Estimator> estimator;
  if (!given.estimator.empty()) estimator = chosen(estimator_names(), given.estimator);
  const auto defaults = default_train_options(data.dependence, estimator);
  train.estimator = defaults.estimator;
  train.start = given.start.value_or(defaults.start);
  train.patience = given.patience.value_or(defaults.patience);
  train.dependence_rate = given.dependence_rate.value_or(defaults.dependence_rate);
  train.schedule = chosen(schedule_names(), given.schedule);
  request.flow.kind = chosen(flow_kind_names(), given.flow);
  request.flow.permutation = chosen(permutation_names(), given.permutation);
  request.flow.permutation_seed = train.seed;
  request.flow.layers =
      given.layers.value_or(request.flow.kind == FlowKind::spline ? 3 : 8);
  request.float64 = given.precision == "float64";
  return with_defaults(request);
}

void add_data_options(CLI::App& verb, Given& given) {
  auto& data = given.request.data;
  verb.add_option("table", data.table, "Training table: .csv, .tsv or .npy");
  add_dependence_options(verb, given.dependence);
  verb.add_flag("--independent", given.independent, "Rows are independent");
  verb.add_option("--valid", data.valid_table,
                  "Validation table (default: a part of the training table)");
  add_list(verb, "--columns", data.columns,
           "Columns to model, comma-separated (default: all without another role)");
  add_list(verb, "--context", data.context, "Columns to condition on, comma-separated");
  add_choice(verb, "--split-by", given.split_by, split_by_names(),
             "How validation rows are chosen (default: group with --group, else rows)");
  verb.add_option("--valid-fraction", data.valid_fraction,
                  "Share of rows held out without --valid")
      ->check(number_in(kSmallestValidFraction, kLargestValidFraction));
  verb.add_flag("--drop-missing", data.drop_missing,
                "Leave out rows with missing values");
}

void add_model_options(CLI::App& verb, Given& given) {
  auto& flow = given.request.flow;
  add_choice(verb, "--flow", given.flow, flow_kind_names(), "Kind of flow");
  verb.add_option("--layers", given.layers,
                  "Coupling layers (default: 3 for spline, 8 for affine)")
      ->check(integer_in(1, 1000));
  add_list(verb, "--hidden", flow.hidden, "Widths of the networks, comma-separated")
      ->check(integer_in(1, 100'000));
  verb.add_option("--bins", flow.bins, "Bins of the splines")
      ->check(integer_in(2, kMaximumSplineBins));
  verb.add_option(
          "--bound", given.request.bound,
          "Splines act on [-bound, bound] standard deviations (default: from data)")
      ->check(number_in(1e-3, 1e6));
  add_choice(verb, "--permutation", given.permutation, permutation_names(),
             "Columns that a layer maps");
  verb.add_option("--precision", given.precision, "Arithmetic of the flow")
      ->check(CLI::IsMember({"float32", "float64"}));
  add_choice(
      verb, "--correlation", given.correlation, block_correlation_names(),
      "With --group: one correlation for all blocks, one for each, one for each size, "
      "or one for each under a common law that is learned")
      ->needs(verb.get_option("--group"));
}

void add_training_options(CLI::App& verb, Given& given) {
  auto& train = given.request.train;
  add_choice(verb, "--schedule", given.schedule, schedule_names(),
             "How flow and dependence are trained");
  add_choice(verb, "--estimator", given.estimator, estimator_names(),
             "Gradient estimator (default: memory where a row depends on few others, "
             "else hybrid)");
  verb.add_option("--epochs", train.epochs, "Passes over the data")
      ->check(integer_in(1, kManySteps));
  verb.add_option("--batch-size", train.batch_size, "Rows of a step")
      ->check(integer_in(2, kManySteps));
  verb.add_option("--learning-rate", train.learning_rate,
                  "Adamax step at the beginning")
      ->check(number_in(0, kLargestRate));
  verb.add_option("--weight-decay", train.weight_decay,
                  "On the flow's weights, the first layers of its networks excepted")
      ->check(number_in(0, kLargestRate));
  verb.add_option("--patience", given.patience,
                  "Epochs without a better validation NLL before stopping (default: 30 "
                  "with the memory estimator, else all)")
      ->check(integer_in(1, kManySteps));
  verb.add_option("--start", given.start,
                  "First value of rho, lambda or the own share of a sum (default: rho "
                  "0.3, else 0.5)")
      ->check(number_in(kSmallestParameter, kLargestParameter));
  verb.add_option(
          "--dependence-rate", given.dependence_rate,
          "Learning rate of rho or lambda, times the flow's (default: 10; 1 with "
          "the pairs estimator)")
      ->check(number_in(0, kLargestRate));
  verb.add_option("--prior", train.prior,
                  "Beta(1 + prior, 1 + prior) prior of rho or lambda; 0: none")
      ->check(number_in(0, kLargestRate));
  verb.add_option("--memory-share", train.memory_share,
                  "Estimator hybrid: share of memory in the flow's gradient")
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

// A resumed run has its own options.
void check_alone(const CLI::App& verb) {
  for (const auto* option : verb.get_options()) {
    const auto name = option->get_name();
    if (option->count() == 0 || name == "--resume" || name == "--checkpoint-seconds") {
      continue;
    }
    throw InputError(
        "--resume: expected no other option, since a run keeps its own, found " + name);
  }
}

}  // namespace

void add_fit(CLI::App& app, Console& console) {
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand("fit", "Train a flow on dependent rows");
  add_data_options(*verb, *given);
  add_model_options(*verb, *given);
  add_training_options(*verb, *given);
  add_threads(*verb, given->request.threads);
  verb->add_option("--device", given->request.device, "Where to compute")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  verb->add_flag("!--no-inference", given->request.inference,
                 "No standard errors, intervals and tests at the end");
  verb->add_option("--checkpoint-seconds", given->checkpoint_seconds,
                   "Time between two checkpoints; 0: after every epoch")
      ->check(number_in(0, 1e9));
  verb->add_option("--out", given->out, "Run folder to make");
  verb->add_option(
      "--resume", given->resume,
      "Go on with a run that was interrupted; all options are the run's own");
  verb->callback([given, verb, &console] {
    const bool resume = verb->count("--resume") > 0;
    if (resume) check_alone(*verb);
    if (resume && run_is_finished(given->resume)) {
      console.info(given->resume + ": the run is finished, there is nothing to resume");
      return;
    }
    if (!resume && (given->request.data.table.empty() || given->out.empty())) {
      throw InputError("fit: expected a table and --out RUN (see --help)");
    }
    const auto request = resume ? read_run_request(given->resume) : resolve(*given);
    const FitPlace place{.directory = resume ? given->resume : given->out,
                         .resume = resume,
                         .checkpoint_seconds = given->checkpoint_seconds,
                         .stop = &stop_requested()};
    const auto result = fit(request, place, console);
    fmt::print("{}: valid NLL {:.4f} nats at epoch {} of {}, {}, {} s\n",
               place.directory, result.valid_nll_nats, result.best_epoch, result.epochs,
               result.model.dependence.summary(),
               fmt::format("{:.1f}", result.seconds));
  });
}

}  // namespace kinflow::cli
