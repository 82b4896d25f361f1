// kinflow fit: train a flow on dependent rows.
#include "kinflow/fit/fit.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "fit_options.h"
#include "image_options.h"
#include "kinflow/core/error.h"
#include "kinflow/fit/images/image_fit.h"
#include "kinflow/pages/model/run_page.h"
#include "write_report.h"

namespace kinflow::cli {
namespace {

// What was typed.
struct FitVerbGiven {
  FitGiven fit;
  ImageFitGiven images;
  std::string resume, out;
  bool overwrite = false, no_report = false;
  std::optional<double> checkpoint_seconds;
};

// A resumed run has its own options.
void check_alone(const CLI::App& verb) {
  for (const auto* option : verb.get_options()) {
    const auto name = option->get_name();
    if (option->count() == 0 || name == "--resume" || name == "--checkpoint-seconds" ||
        name == "--no-report") {
      continue;
    }
    throw InputError(
        "--resume: expected no other option, since a run keeps its own, found " + name);
  }
}

FitPlace place_of(const FitVerbGiven& given, double checkpoint_seconds) {
  const bool resume = !given.resume.empty();
  return {.directory = resume ? given.resume : given.out,
          .resume = resume,
          .overwrite = given.overwrite,
          .checkpoint_seconds = given.checkpoint_seconds.value_or(checkpoint_seconds),
          .stop = &stop_requested(kStopsAfterEpoch)};
}

void fit_table(const FitVerbGiven& given, const CLI::App& verb, Console& console) {
  if (given.resume.empty()) check_options_for(verb, ModelKind::table);
  if (given.fit.flow == "glow") {
    throw InputError("--flow: expected --images beside glow, found none");
  }
  if (given.fit.precision == "mixed") {
    throw InputError("--precision: expected --images beside mixed, found none");
  }
  const auto place = place_of(given, FitPlace{}.checkpoint_seconds);
  const auto chosen =
      place.resume ? read_run_request(given.resume) : given.fit.resolve();
  if (!place.resume) {
    refuse_idle_options(find_idle_fit_options(verb, {given.fit, chosen}));
  }
  const auto result = fit(chosen, place, console);
  const auto members = result.model.members();
  fmt::print("{}: {}, {}{}, {:.1f} s\n", place.directory, score_line(result),
             result.model.dependence.summary(),
             members > 1 ? fmt::format(", mixture of {} members", members) : "",
             result.seconds);
}

void fit_image_set(const FitVerbGiven& given, const CLI::App& verb, Console& console) {
  const auto place = place_of(given, kImageCheckpointSeconds);
  const auto chosen = place.resume ? read_image_run_request(given.resume)
                                   : given.images.resolve(verb, given.fit);
  if (!place.resume) {
    check_outside(place.directory, chosen.data.path, "--out");
    check_outside(place.directory, chosen.valid.path, "--out");
  }
  const auto result = fit_images(chosen, place, console);
  fmt::print(
      "{}: valid NLL {:.4f} nats of {} images, {:.4f} bits per dimension, at epoch "
      "{} of {}, "
      "{}, {:.1f} s\n",
      place.directory, result.valid_nll_nats,
      result.valid_score == ValidScore::weighted ? "weighted" : "single",
      result.valid_bits_per_dimension, result.best_epoch, result.epochs,
      result.model.summary(), result.seconds);
}

}  // namespace

void add_fit(CLI::App& app, Console& console) {
  auto given = std::make_shared<FitVerbGiven>();
  auto* verb = app.add_subcommand("fit", "Train a flow on dependent rows or images");
  add_fit_options(*verb, given->fit);
  add_image_fit_options(*verb, given->fit, given->images);
  auto& request = given->fit.request;
  add_threads(*verb, request.threads);
  add_device(*verb, request.device);
  verb->add_option(
          "--checkpoint-seconds", given->checkpoint_seconds,
          "Time between two checkpoints; 0: after every epoch (default: 5, of images "
          "120)")
      ->check(number_in(0, 1e9));
  verb->add_option("--out", given->out, "Run folder to make");
  add_overwrite(*verb, given->overwrite);
  add_no_report(*verb, given->no_report);
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
    const bool images = resume ? is_image_run(given->resume) : given->images.images;
    (images ? fit_image_set : fit_table)(*given, *verb, console);
    if (given->no_report) return;
    const auto& directory = resume ? given->resume : given->out;
    write_report(
        report_in(directory), [&] { return run_page(directory); }, console);
  });
}

}  // namespace kinflow::cli
