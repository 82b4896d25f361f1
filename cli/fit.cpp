// kinflow fit: train a flow on dependent rows.
#include "kinflow/train/fit.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "fit_options.h"
#include "kinflow/core/error.h"

namespace kinflow::cli {
namespace {

// What was typed.
struct Given {
  FitGiven fit;
  std::string resume, out;
  double checkpoint_seconds = FitPlace{}.checkpoint_seconds;
};

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
  add_fit_options(*verb, given->fit);
  auto& request = given->fit.request;
  add_threads(*verb, request.threads);
  add_device(*verb, request.device);
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
    if (!resume && (given->fit.request.data.table.empty() || given->out.empty())) {
      throw InputError("fit: expected a table and --out RUN (see --help)");
    }
    const auto chosen = resume ? read_run_request(given->resume) : given->fit.resolve();
    const FitPlace place{.directory = resume ? given->resume : given->out,
                         .resume = resume,
                         .checkpoint_seconds = given->checkpoint_seconds,
                         .stop = &stop_requested()};
    const auto result = fit(chosen, place, console);
    const auto members = result.model.members();
    fmt::print("{}: valid NLL {:.4f} nats at epoch {} of {}, {}{}, {} s\n",
               place.directory, result.valid_nll_nats, result.best_epoch, result.epochs,
               result.model.dependence.summary(),
               members > 1 ? fmt::format(", mixture of {} members", members) : "",
               fmt::format("{:.1f}", result.seconds));
  });
}

}  // namespace kinflow::cli
