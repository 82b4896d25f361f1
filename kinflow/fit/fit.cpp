// From a request to a finished run.
#include "kinflow/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kinflow/array/device.h"
#include "kinflow/array/device_stream.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/error.h"
#include "kinflow/core/time_left.h"
#include "kinflow/engine/names.h"
#include "kinflow/fit/folded_training.h"
#include "kinflow/fit/late_best.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/fit/training_group.h"

namespace kinflow {
namespace {

void train(FoldedTraining& trainer, const RunFolder& folder, const FitPlace& place,
           const FitRequest& request, Logger& logger) {
  TimeLeft time_left;
  auto last_checkpoint = Clock::now();
  while (!trainer.finished()) {
    const auto known = trainer.history().size();
    trainer.run_epoch();
    folder.append_metrics(trainer.history(), known);
    for (const auto& warning : trainer.take_warnings()) logger.warning(warning);
    const bool stop = place.stop != nullptr && *place.stop;
    if (stop || seconds_since(last_checkpoint) >= place.checkpoint_seconds) {
      folder.write_checkpoint(trainer.state());
      last_checkpoint = Clock::now();
    }
    if (stop) {
      throw Interrupted(
          fmt::format("interrupted after epoch {}; go on with: kinflow fit --resume {}",
                      trainer.epochs_done(), place.directory));
    }
    const auto done = trainer.epochs_done();
    time_left.observe(static_cast<double>(done));
    const auto seconds_until = [&](std::int64_t epoch) {
      return time_left.seconds_for(static_cast<double>(epoch - done));
    };
    const auto end = trainer.earliest_end();
    logger.progress(
        {.job = "fit",
         .done = done,
         .total = request.train.epochs,
         .unit = "epoch",
         .status = trainer.status_line(),
         .seconds_left = seconds_until(request.train.epochs),
         .least_seconds_left = end < request.train.epochs ? seconds_until(end) : -1});
  }
}

// A resumed run must see the data that it began with.
void check_same_data(const nlohmann::json& before, const nlohmann::json& now,
                     const FitRequest& request) {
  const auto at = [](const nlohmann::json& record, const std::string& key) {
    return record.is_object() ? record.value(key, nlohmann::json()) : nlohmann::json();
  };
  expect_same_hash(at(before, "data_hash"), at(now, "data_hash"), request.data.table);
  expect_same_hash(at(before, "valid_hash"), at(now, "valid_hash"),
                   request.data.valid_table);
  for (const auto& [path, hash] : now.at("dependence_hashes").items()) {
    expect_same_hash(at(at(before, "dependence_hashes"), path), hash, path);
  }
}

// A run of a version without folds held out other rows and scored them in another way.
void check_same_validation(const nlohmann::json& before, const FitRequest& request,
                           const std::string& directory) {
  const nlohmann::json::json_pointer folds("/request/data/folds");
  if (before.contains(folds) || !request.data.valid_table.empty()) return;
  throw InputError(directory +
                   ": expected a run of this version, found one of an earlier version, "
                   "which held out other rows; start a new fit");
}

// A new run folder, or that of a run to be resumed with the trainer at its checkpoint.
RunFolder open_folder(const FitRequest& request, const FitPlace& place,
                      const nlohmann::json& record, FoldedTraining& trainer,
                      Logger& logger) {
  if (!place.resume) return RunFolder::create(place.directory, record, place.overwrite);
  auto folder = RunFolder::open(place.directory);
  folder.lock();
  const auto before = folder.read_record();
  check_same_validation(before, request, place.directory);
  check_same_data(before, record, request);
  remove_unfinished_files(place.directory);
  const auto checkpoint = folder.read_checkpoint();
  if (!checkpoint.empty()) trainer.restore(checkpoint, folder.checkpoint_path());
  logger.info(fmt::format("resuming {} after epoch {}", place.directory,
                          trainer.epochs_done()));
  return folder;
}

}  // namespace

std::string score_line(const FitResult& result) {
  if (result.cross_validation) {
    const auto& scores = *result.cross_validation;
    return fmt::format("cross-validated NLL {} +- {} nats ({} folds)",
                       format_nats(scores.nll_nats), format_nats(scores.standard_error),
                       scores.folds);
  }
  return fmt::format(
      "{} {} nats at epoch {} of {}", valid_score_label(result.valid_score),
      format_nats(result.valid_nll_nats), result.best_epoch, result.epochs);
}

FitResult fit(const FitRequest& given, const FitPlace& place, Logger& logger) {
  const auto start = Clock::now();
  const auto request = with_defaults(given);
  if (!place.resume) RunFolder::check_free(place.directory, place.overwrite);
  check_paths(request.data);
  const DeviceStream stream(find_device(request.device));
  FoldedTraining training({request}, logger);
  auto record = new_run_record(request);
  auto folder = open_folder(request, place, record, training, logger);
  folder.write_metrics(training.history(), training.valid_score());
  training.describe(logger);
  if (place.gives_hints && !training.hint().empty()) logger.info(training.hint());
  std::optional<FitResult> trained;
  try {
    train(training, folder, place, request, logger);
    // A kill in what is left to do loses no epoch.
    if (training.folds() > 1) folder.write_checkpoint(training.state());
    set_threads(request.threads);
    trained = training.finish(0, record, logger, place.stop);
  } catch (const NumericalError& error) {
    record["status"] = "failed";
    record["error"] = error.what();
    folder.write_record(record);
    throw;
  }
  auto& result = *trained;
  const auto& members = result.model.record["members"];
  if (std::all_of(members.begin(), members.end(),
                  [](const auto& member) { return member["best_epoch"] == 0; })) {
    logger.warning(
        "no epoch was better than the untrained flow on the validation rows: the model "
        "is a normal density");
  }
  const auto hint =
      late_best_hint(result.best_epoch, request.train.epochs, request.train.patience);
  if (!hint.empty()) logger.info(hint);
  result.seconds = seconds_since(start);
  folder.write_result(record, result);
  return std::move(*trained);
}

}  // namespace kinflow
