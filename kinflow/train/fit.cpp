// From a request to a finished run.
#include "kinflow/train/fit.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/version.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/dependence/families.h"
#include "kinflow/train/fit_inference.h"
#include "kinflow/train/fitted_dependence.h"
#include "kinflow/train/names.h"
#include "kinflow/train/run_folder.h"
#include "kinflow/train/trainer.h"

namespace kinflow {
namespace {

using Clock = std::chrono::steady_clock;

// A value this far out is worth a warning.
constexpr double kFarDeviations = 30;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Weights of the rows for location and scale, C^-1 1 with the law's own start:
// generalised least squares, so that rows of a large block count less.
at::Tensor row_weights(const Dependence& law, at::Device device) {
  const auto parameters = law.default_parameters().unsqueeze(0).to(device);
  const auto ones = at::ones({1, law.rows(), 1}, at::kDouble).to(device);
  return law.precision_times(parameters, ones).view({law.rows()}).cpu();
}

std::string status_line(const Trainer& trainer, const std::string& typical_name) {
  const auto best = trainer.best_replica();
  const auto& history = trainer.history();
  const auto& last =
      history[history.size() - static_cast<std::size_t>(trainer.replicas() - best)];
  auto line =
      fmt::format("valid NLL {} (best {} at {})", format_nats(last.valid_nll_nats),
                  format_nats(trainer.best_valid_nll(best)), trainer.best_epoch(best));
  if (!typical_name.empty()) {
    line += fmt::format(", typical {} {:.3f}", typical_name, last.typical_parameter);
  }
  return line;
}

void train(Trainer& trainer, const RunFolder& folder, const FitPlace& place,
           const FitRequest& request, const std::string& typical_name, Logger& logger) {
  const auto start = Clock::now();
  const auto first_epoch = trainer.epochs_done();
  auto last_checkpoint = start;
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
    const double per_epoch =
        seconds_since(start) / static_cast<double>(done - first_epoch);
    logger.progress(
        {.job = "fit",
         .done = done,
         .total = request.train.epochs,
         .unit = "epoch",
         .status = status_line(trainer, typical_name),
         .seconds_left = per_epoch * static_cast<double>(request.train.epochs - done)});
  }
}

// The best replica's flow by itself.
std::unique_ptr<Flow> single_flow(Flow& flow, std::int64_t replica) {
  auto single = std::make_unique<Flow>(flow.options(), std::vector<std::uint64_t>{0},
                                       flow.values().scalar_type(), at::kCPU);
  const c10::NoGradGuard no_grad;
  single->values().copy_(flow.values().narrow(0, replica, 1));
  return single;
}

nlohmann::json new_record(const FitRequest& request) {
  nlohmann::json record = {{"kinflow_version", version()},
                           {"commit", commit()},
                           {"status", "running"},
                           {"request", to_json(request)},
                           {"data_hash", file_hash(request.data.table)}};
  if (!request.data.valid_table.empty()) {
    record["valid_hash"] = file_hash(request.data.valid_table);
  }
  record["dependence_hashes"] = nlohmann::json::object();
  for (const auto& path : input_files(request.data.dependence)) {
    record["dependence_hashes"][path] = file_hash(path);
  }
  return record;
}

// run.json and the model keep the paths, and JSON holds UTF-8 only. Files are read
// twice, the second time for their hashes.
void check_paths(const DataRequest& data) {
  auto paths = input_files(data.dependence);
  paths.push_back(data.table);
  paths.push_back(data.valid_table);
  paths.push_back(data.dependence.cache);
  for (const auto& path : paths) {
    std::error_code ignored;
    if (std::filesystem::is_fifo(path, ignored)) {
      throw InputError(path + ": expected a file that can be read again, found a pipe");
    }
    if (is_printable_utf8(path)) continue;
    throw InputError(in_quotes(path, path.size()) +
                     ": expected a path of UTF-8 text, since the run keeps it");
  }
}

// A resumed run must see the data that it began with.
void check_same_data(const nlohmann::json& before, const nlohmann::json& now,
                     const FitRequest& request) {
  const auto check = [](const nlohmann::json& then, const nlohmann::json& hash,
                        const std::string& path) {
    if (then == hash) return;
    throw InputError(path +
                     ": expected the file that the run began with, found another "
                     "content; start a new fit");
  };
  const auto at = [](const nlohmann::json& record, const std::string& key) {
    return record.is_object() ? record.value(key, nlohmann::json()) : nlohmann::json();
  };
  check(at(before, "data_hash"), at(now, "data_hash"), request.data.table);
  check(at(before, "valid_hash"), at(now, "valid_hash"), request.data.valid_table);
  for (const auto& [path, hash] : now.at("dependence_hashes").items()) {
    check(at(at(before, "dependence_hashes"), path), hash, path);
  }
}

// All that a training needs, made before anything is written.
struct Preparation {
  FitRows rows;
  FittedDependence dependence;
  Standardization standardization;
  Standardization context_standardization;
  std::vector<std::string> notes;  // about the relations of rows, for the user
  std::unique_ptr<Flow> flow;
  std::unique_ptr<Trainer> trainer;
};

Preparation prepare(const FitRequest& request, Logger& logger) {
  check_paths(request.data);
  set_threads(request.threads);
  const auto device = find_device(request.device);
  const auto type = request.float64 ? at::kDouble : at::kFloat;
  Preparation made;
  made.rows = read_fit_rows(request.data, request.train.seed);
  made.notes = made.rows.relations.notes;
  made.dependence = make_fitted_dependence(request.data.dependence, request.train,
                                           made.rows, device, logger);

  const auto& train = made.rows.train;
  const auto& valid = made.rows.valid;
  made.standardization =
      Standardization::from(train.data, row_weights(*made.dependence.law, device));
  if (train.context.defined()) {
    made.context_standardization = Standardization::from(train.context);
  }
  const auto standardized = made.standardization.apply(train.data);
  auto options = request.flow;
  options.dimension = train.data.size(1);
  options.context = train.context.defined() ? train.context.size(1) : 0;
  options.bound = request.bound.value_or(spline_bound_for(standardized));
  const auto& start = made.dependence.start;
  const std::vector<std::uint64_t> seeds(static_cast<std::size_t>(start.size(0)),
                                         request.train.seed);
  made.flow = std::make_unique<Flow>(options, seeds, type, device);
  const auto ready = [&](const at::Tensor& values, const Standardization& by) {
    return values.defined() ? by.apply(values).to(device, type) : values;
  };
  made.trainer = std::make_unique<Trainer>(
      *made.flow, *made.dependence.law,
      TrainingData{.train = standardized.to(device, type),
                   .train_context = ready(train.context, made.context_standardization),
                   .valid = ready(valid.data, made.standardization),
                   .valid_context = ready(valid.context, made.context_standardization),
                   .valid_law = made.dependence.valid_law.get(),
                   .valid_weights = made.dependence.valid_weights,
                   .typical_weights = made.dependence.typical_weights,
                   .log_abs_det = made.standardization.log_abs_det()},
      request.train, start);
  return made;
}

// A new run folder, or that of a run to be resumed with the trainer at its checkpoint.
RunFolder open_folder(const FitRequest& request, const FitPlace& place,
                      const nlohmann::json& record, Trainer& trainer, Logger& logger) {
  if (!place.resume) return RunFolder::create(place.directory, record);
  auto folder = RunFolder::open(place.directory);
  folder.lock();
  check_same_data(folder.read_record(), record, request);
  folder.remove_unfinished_files();
  const auto checkpoint = folder.read_checkpoint();
  if (!checkpoint.empty()) trainer.restore(checkpoint, folder.checkpoint_path());
  logger.info(fmt::format("resuming {} after epoch {}", place.directory,
                          trainer.epochs_done()));
  return folder;
}

// What the fit is about to do, so that a wrong column or a lost row is seen at once.
void describe(const Preparation& made, const FitRequest& request, Logger& logger) {
  const auto& rows = made.rows;
  const auto parameters = made.dependence.law->parameter_count();
  for (const auto& note : made.notes) logger.info(note);
  const auto structure = made.dependence.law->description();
  if (!structure.empty()) logger.info(structure);
  const auto* families = dynamic_cast<const Families*>(made.dependence.law.get());
  if (families != nullptr && families->rows_of_largest_component() == 1) {
    logger.warning("no two training rows are related: lambda cannot be learned");
  }
  logger.info(fmt::format("columns: {}", fmt::join(rows.columns, ", ")));
  logger.info(
      fmt::format("{} training rows, {} validation rows{}, {} dependence parameter{}",
                  rows.train.data.size(0), rows.valid.data.size(0),
                  made.dependence.valid_law ? " (scored together)" : "", parameters,
                  parameters == 1 ? "" : "s"));
  if (rows.dropped_rows > 0) {
    logger.info(fmt::format("{} rows with missing values left out", rows.dropped_rows));
  }
  const auto far = made.standardization.apply(rows.train.data).abs().amax(0);
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const double deviations = far[static_cast<std::int64_t>(i)].item<double>();
    if (deviations < kFarDeviations) continue;
    logger.warning(fmt::format(
        "{}: column '{}' has a value {:.0f} standard deviations from the mean; is it a "
        "mistake?",
        request.data.table, rows.columns[i], deviations));
  }
}

// The most likely dependence parameters [k] given the trained flow: validation stops a
// training where they may still lag behind, and stages come seldom. A grid keeps its
// own, and an unstructured dependence has too many to search.
at::Tensor final_parameters(const Preparation& made, const TrainOptions& options,
                            const Model& model, const at::Tensor& trained,
                            Logger& logger) {
  const auto& law = *made.dependence.law;
  if (law.parameter_count() == 0 || options.schedule == Schedule::grid ||
      made.dependence.learned.kind == DependenceKind::unstructured) {
    return trained;
  }
  const auto latents =
      model.to_latent(made.rows.train.data, made.rows.train.context).latents;
  try {
    return law.most_likely(latents.to(trained.device()).unsqueeze(0),
                           trained.unsqueeze(0), options.prior)[0];
  } catch (const NumericalError& error) {
    logger.warning(fmt::format("the dependence stays as trained: {}", error.what()));
    return trained;
  }
}

// A finished training: the model, and its parameters as the law of its rows has them.
struct Finished {
  FitResult result;
  at::Tensor parameters;  // [k]
};

// The best replica as a model.
Finished finish(const Preparation& made, const FitRequest& request,
                const nlohmann::json& record, Logger& logger) {
  auto& trainer = *made.trainer;
  trainer.restore_best();
  const auto best = trainer.best_replica();
  FitResult result{.model = {.columns = made.rows.columns,
                             .context_columns = request.data.context,
                             .standardization = made.standardization,
                             .context_standardization = made.context_standardization,
                             .flow = single_flow(*made.flow, best),
                             .dependence = {},
                             .record = {}},
                   .epochs = trainer.epochs_done(),
                   .best_epoch = trainer.best_epoch(best),
                   .valid_nll_nats = trainer.best_valid_nll(best)};
  set_threads(request.threads);
  const auto parameters = final_parameters(made, request.train, result.model,
                                           trainer.best_parameters(best), logger);
  result.model.dependence = made.dependence.with_parameters(parameters);
  result.model.record = {{"kinflow_version", version()},
                         {"request", record["request"]},
                         {"data_hash", record["data_hash"]},
                         {"train_rows", made.rows.train.data.size(0)},
                         {"valid_rows", made.rows.valid.data.size(0)},
                         {"dropped_rows", made.rows.dropped_rows},
                         {"valid_score", made.dependence.valid_law ? "joint" : "rows"},
                         {"epochs", result.epochs},
                         {"best_epoch", result.best_epoch},
                         {"best_replica", best},
                         {"valid_nll_nats", result.valid_nll_nats},
                         {"skipped_steps", trainer.skipped_steps()}};
  return {std::move(result), parameters};
}

// Adds standard errors and tests to the record. Where they cannot be had, the model
// stands without them.
void add_inference(const Preparation& made, const at::Tensor& parameters, Model& model,
                   Logger& logger) {
  try {
    model.record["inference"] =
        infer_dependence(made.dependence, parameters, model, made.rows.train);
  } catch (const std::exception& error) {
    logger.warning(fmt::format("no standard errors and tests: {}", error.what()));
    model.record["inference"] = {{"why_no_errors", error.what()},
                                 {"why_no_test", error.what()}};
  }
}

}  // namespace

FitResult fit(const FitRequest& given, const FitPlace& place, Logger& logger) {
  const auto start = Clock::now();
  const auto request = with_defaults(given);
  if (!place.resume) RunFolder::check_free(place.directory);
  const auto made = prepare(request, logger);
  auto record = new_record(request);
  auto folder = open_folder(request, place, record, *made.trainer, logger);
  folder.write_metrics(made.trainer->history());
  describe(made, request, logger);
  try {
    train(*made.trainer, folder, place, request, made.dependence.learned.typical_name(),
          logger);
  } catch (const NumericalError& error) {
    record["status"] = "failed";
    record["error"] = error.what();
    folder.write_record(record);
    throw;
  }
  auto finished = finish(made, request, record, logger);
  auto& result = finished.result;
  if (result.best_epoch == 0) {
    logger.warning(
        "no epoch was better than the untrained flow on the validation rows: the model "
        "is a normal density");
  }
  if (request.inference) add_inference(made, finished.parameters, result.model, logger);
  save_model(folder.model_path(), result.model);
  result.seconds = seconds_since(start);
  record["status"] = "finished";
  record["result"] = result.model.record;
  record["result"].erase("request");
  record["seconds"] = result.seconds;
  folder.write_record(record);
  folder.close();
  return std::move(finished.result);
}

}  // namespace kinflow
