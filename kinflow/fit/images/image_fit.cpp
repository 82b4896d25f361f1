// From a request to a finished run of images.
#include "kinflow/fit/images/image_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/time_left.h"
#include "kinflow/core/version.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/fit/images/image_data.h"
#include "kinflow/fit/images/image_run.h"
#include "kinflow/fit/late_best.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/statistics/bits_per_dimension.h"

namespace kinflow {
namespace {

double bits_of(double nll_nats, const ImageSet& images) {
  return bits_per_dimension(-nll_nats, images.dimension());
}

void check_paths(const ImageFitRequest& request) {
  for (const auto* images : {&request.data, &request.valid}) {
    check_recorded_path(images->path);
    check_recorded_path(images->ids);
  }
}

nlohmann::json new_record(const ImageFitRequest& request, const ImageFitData& data) {
  return {{"kind", "images"},
          {"kinflow_version", version()},
          {"commit", commit()},
          {"status", "running"},
          {"request", to_json(request)},
          {"data_hash", set_hash(data.train)},
          {"valid_hash", set_hash(data.valid)}};
}

std::string metrics_header(ValidScore score) {
  return fmt::format(
      "epoch,replica,train_nll_nats,{},typical_parameter,gradient_norm,skipped_steps\n",
      valid_score_key(score));
}

std::string lines_of(const std::vector<ImageEpoch>& history, std::size_t first) {
  std::string lines;
  for (std::size_t i = first; i < history.size(); ++i) {
    const auto& epoch = history[i];
    lines += fmt::format("{},{},{},{},{},{},{}\n", epoch.epoch, epoch.replica,
                         metrics_number(epoch.train_nll_nats),
                         metrics_number(epoch.valid_nll_nats),
                         metrics_number(epoch.typical_parameter),
                         metrics_number(epoch.gradient_norm), epoch.skipped_steps);
  }
  return lines;
}

// People with at least two images.
std::int64_t repeated_people(const ImageSet& set) {
  const auto counts = images_per_person(set);
  return std::count_if(counts.begin(), counts.end(), [](auto n) { return n > 1; });
}

void describe(const ImageFitRequest& request, const ImageFitData& data,
              const ImageRun& run, Logger& logger) {
  for (const auto& note : data.notes) logger.info(note);
  for (const auto& warning : data.warnings) logger.warning(warning);
  const auto repeated = repeated_people(data.train);
  logger.info(fmt::format(
      "{} of {} people ({} with several), {} of {}",
      counted(data.train.images(), "training image"), data.train.people(), repeated,
      counted(data.valid.images(), "validation image"), data.valid.people()));
  if (repeated == 0 && request.train.schedule != Schedule::baseline) {
    logger.warning("nobody has two training images: correlations cannot be learned");
  }
  logger.info(fmt::format(
      "{} x {} x {} values of {} bits; flow with {} parameters; {} of {} in {} on {}, "
      "validation every {}",
      data.train.channels, data.train.height, data.train.width, data.train.bits,
      run.parameter_count(), counted(run.replicas(), "training"),
      counted(request.train.epochs, "epoch"),
      name_of(image_precision_names(), request.train.precision), request.device,
      run.valid_every() == 1 ? "epoch" : fmt::format("{} epochs", run.valid_every())));
}

std::string status_line(const ImageRun& run, const ImageFitData& data) {
  auto line = fmt::format("train {:.3f}", bits_of(run.last_train_nll(), data.train));
  if (run.best()) {
    line +=
        fmt::format(", best valid {:.3f} (epoch {})",
                    bits_of(run.best()->valid_nll_nats, data.valid), run.best()->epoch);
  }
  line += " bits/dim";
  const auto& history = run.history();
  if (!history.empty() && history.back().typical_parameter > 0) {
    line += fmt::format(", mean rho {:.3f}", history.back().typical_parameter);
  }
  if (run.skipped_steps() > 0) line += fmt::format(", {} skipped", run.skipped_steps());
  return line;
}

// Trains to the end, with metrics after every epoch and checkpoints now and then.
class Loop {
 public:
  Loop(ImageRun& run, RunFolder& folder, const FitPlace& place,
       const ImageFitData& data, Logger& logger)
      : run_(run), folder_(folder), place_(place), data_(data), logger_(logger) {}

  void train() {
    while (!run_.is_finished()) {
      const auto known = run_.history().size();
      run_.advance();
      show_progress();
      if (!run_.is_between_epochs()) continue;
      folder_.append_metrics(lines_of(run_.history(), known));
      for (const auto& warning : run_.take_warnings()) logger_.warning(warning);
      if (is_stopping() ||
          seconds_since(last_checkpoint_) >= place_.checkpoint_seconds) {
        write_checkpoint();
      }
      if (is_stopping() && !run_.is_finished()) {
        throw Interrupted(fmt::format(
            "interrupted after epoch {}; go on with: kinflow fit --resume {}",
            run_.history().back().epoch, place_.directory));
      }
    }
  }

 private:
  bool is_stopping() const { return place_.stop != nullptr && *place_.stop; }

  // The state refers to the best one, which must be there first.
  void write_checkpoint() {
    run_.save_best(folder_.best_path());
    folder_.write_checkpoint(run_.state());
    last_checkpoint_ = Clock::now();
  }

  void show_progress() {
    const auto done = run_.steps_done(), total = run_.total_steps();
    time_left_.observe(static_cast<double>(done));
    logger_.progress(
        {.job = "fit",
         .done = done,
         .total = total,
         .unit = "step",
         .status = status_line(run_, data_),
         .seconds_left = time_left_.seconds_for(static_cast<double>(total - done))});
  }

  ImageRun& run_;
  const RunFolder& folder_;
  const FitPlace& place_;
  const ImageFitData& data_;
  Logger& logger_;
  TimeLeft time_left_;
  Clock::time_point last_checkpoint_ = Clock::now();
};

RunFolder open_folder(const ImageFitRequest& request, const FitPlace& place,
                      const nlohmann::json& record, ImageRun& run, Logger& logger) {
  if (!place.resume) {
    return RunFolder::create(place.directory, record, place.overwrite);
  }
  auto folder = RunFolder::open(place.directory);
  folder.lock();
  const auto before = folder.read_record();
  const auto hash = [](const nlohmann::json& of, const char* key) {
    return of.is_object() ? of.value(key, nlohmann::json()) : nlohmann::json();
  };
  expect_same_hash(hash(before, "data_hash"), hash(record, "data_hash"),
                   request.data.path);
  expect_same_hash(hash(before, "valid_hash"), hash(record, "valid_hash"),
                   request.valid.path.empty() ? request.data.path : request.valid.path);
  remove_unfinished_files(place.directory);
  const auto checkpoint = folder.read_checkpoint();
  if (!checkpoint.empty()) {
    run.restore(checkpoint, folder.checkpoint_path(), folder.best_path());
  }
  logger.info(
      fmt::format("resuming {} after step {}", place.directory, run.steps_done()));
  return folder;
}

// What became of each training.
nlohmann::json described_trainings(const ImageFitRequest& request,
                                   const ImageRun& run) {
  auto trainings = nlohmann::json::array();
  for (std::int64_t replica = 0; replica < run.replicas(); ++replica) {
    const auto score = valid_score_key(run.valid_score());
    nlohmann::json described = {{score, nullptr}, {"best_epoch", nullptr}};
    if (request.train.schedule == Schedule::grid) {
      described["rho"] = request.grid[static_cast<std::size_t>(replica)];
    }
    for (const auto& epoch : run.history()) {
      if (epoch.replica != replica) continue;
      described["epochs"] = epoch.epoch;
      described["skipped_steps"] = epoch.skipped_steps;
      if (!std::isfinite(epoch.valid_nll_nats)) continue;
      const auto& best = described[score];
      if (best.is_null() || epoch.valid_nll_nats < best.get<double>()) {
        described[score] = epoch.valid_nll_nats;
        described["best_epoch"] = epoch.epoch;
      }
    }
    trainings.push_back(std::move(described));
  }
  return trainings;
}

nlohmann::json final_record(const ImageFitRequest& request, const ImageFitData& data,
                            const ImageRun& run, const nlohmann::json& record) {
  const auto& best = *run.best();
  return {{"kinflow_version", version()},
          {"request", record["request"]},
          {"data_hash", record["data_hash"]},
          {"train_images", data.train.images()},
          {"train_people", data.train.people()},
          {"valid_images", data.valid.images()},
          {"valid_people", data.valid.people()},
          {"epochs", request.train.epochs},
          {"best_epoch", best.epoch},
          {"best_replica", best.replica},
          {"valid_score", name_of(valid_score_names(), run.valid_score())},
          {valid_score_key(run.valid_score()), best.valid_nll_nats},
          {"valid_bits_per_dimension", bits_of(best.valid_nll_nats, data.valid)},
          {"skipped_steps", run.skipped_steps()},
          {"trainings", described_trainings(request, run)}};
}

// All that would fail later.
void check_flow(const ImageFitRequest& request, const ImageFitData& data) {
  glow_scales(flow_for(request, data.train));
  if (data.train.images() >= request.train.batch_size) return;
  throw InputError(fmt::format(
      "{}: expected at least {} training images, one batch (--batch-size), found {}",
      request.data.path, request.train.batch_size, data.train.images()));
}

// A run that is resumed has its epochs from the first call.
void fit_into_time(ImageFitRequest& request, const ImageFitData& data,
                   const FitPlace& place, nd::Device device, Logger& logger) {
  if (!request.minutes || place.resume) return;
  request.train.epochs = epochs_in_time(request, data, device);
  logger.info(request.train.epochs == 1
                  ? fmt::format("1 epoch, the least, for {} minutes", *request.minutes)
                  : fmt::format("{} epochs fit into {} minutes", request.train.epochs,
                                *request.minutes));
}

// Writes the model and the record of a run that is trained.
ImageFitResult finished_fit(const ImageFitRequest& request, const ImageFitData& data,
                            ImageRun& run, RunFolder& folder, nlohmann::json& record,
                            Clock::time_point start, Logger& logger) {
  if (run.skipped_steps() > 0) {
    logger.warning(fmt::format(
        "{} of {} steps were skipped, since their gradients were not finite",
        run.skipped_steps(), run.total_steps()));
  }
  run.save_best(folder.best_path());
  ImageFitResult result{
      .model = load_image_model(folder.best_path()),
      .epochs = request.train.epochs,
      .best_epoch = run.best()->epoch,
      .valid_nll_nats = run.best()->valid_nll_nats,
      .valid_score = run.valid_score(),
      .valid_bits_per_dimension = bits_of(run.best()->valid_nll_nats, data.valid),
      .skipped_steps = run.skipped_steps(),
      .seconds = 0};
  result.model.record = final_record(request, data, run, record);
  save_image_model(folder.model_path(), result.model);
  const auto hint = late_best_hint(result.best_epoch, result.epochs, kManySteps);
  if (!hint.empty()) logger.info(hint);
  result.seconds = seconds_since(start);
  folder.finish(record, result.model.record, result.seconds);
  return result;
}

}  // namespace

ImageFitResult fit_images(const ImageFitRequest& given, const FitPlace& place,
                          Logger& logger) {
  const auto request = with_defaults(given);
  if (!place.resume) RunFolder::check_free(place.directory, place.overwrite);
  check_paths(request);
  set_threads(request.threads);
  find_device(request.device);
  return fit_images(request, read_fit_images(request), place, logger);
}

ImageFitResult fit_images(const ImageFitRequest& given, const ImageFitData& data,
                          const FitPlace& place, Logger& logger) {
  const auto start = Clock::now();
  auto request = with_defaults(given);
  if (!place.resume) RunFolder::check_free(place.directory, place.overwrite);
  set_threads(request.threads);
  const auto device = find_device(request.device);
  check_flow(request, data);
  fit_into_time(request, data, place, device, logger);
  auto record = new_record(request, data);
  ImageRun run(request, data, device);
  auto folder = open_folder(request, place, record, run, logger);
  try {
    folder.write_metrics(metrics_header(run.valid_score()) +
                         lines_of(run.history(), 0));
    describe(request, data, run, logger);
    Loop(run, folder, place, data, logger).train();
    return finished_fit(request, data, run, folder, record, start, logger);
  } catch (const NumericalError& error) {
    folder.write_metrics(metrics_header(run.valid_score()) +
                         lines_of(run.history(), 0));
    run.save_best(folder.best_path());
    record["status"] = "failed";
    record["error"] = error.what();
    folder.write_record(record);
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    // Memory or the disk has failed.
    if (!place.resume) folder.discard_without_checkpoint();
    throw;
  }
}

}  // namespace kinflow
