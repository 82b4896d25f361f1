// From a request to a finished run.
#include "kinflow/train/fit.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/version.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/train/names.h"
#include "kinflow/train/run_folder.h"
#include "kinflow/train/trainer.h"

namespace kinflow {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The dependence of the training rows, and what the model will remember of it.
struct FittedDependence {
  std::unique_ptr<Dependence> law;
  LearnedDependence learned;  // without parameters
};

FittedDependence make_dependence(const FitRequest& request, const FitRows& rows,
                                 at::Device device) {
  FittedDependence result;
  if (request.train.schedule == Schedule::baseline ||
      (request.data.group.empty() && request.data.relationship.empty())) {
    result.law = std::make_unique<Independent>(rows.train.data.size(0));
    return result;
  }
  result.learned.kind = request.data.group.empty() ? "relationship" : "blocks";
  if (!request.data.group.empty()) {
    // One value for all blocks is what a grid can try.
    const auto correlation = request.train.schedule == Schedule::grid
                                 ? BlockCorrelation::shared
                                 : request.correlation;
    auto labelled = make_blocks(rows.train.labels, correlation, device);
    result.learned.column = request.data.group;
    result.learned.labels = std::move(labelled.labels);
    result.learned.sizes = std::move(labelled.sizes);
    result.law = std::move(labelled.blocks);
  } else {
    auto decomposition = decompose_relationship(rows.relationship);
    result.law = std::make_unique<Relationship>(
        SpectralDecomposition{.eigenvectors = decomposition.eigenvectors.to(device),
                              .eigenvalues = decomposition.eigenvalues.to(device)});
  }
  return result;
}

// Weights of the rows for location and scale, C^-1 1 with all parameters at one half:
// generalised least squares, so that rows of a large block count less.
at::Tensor row_weights(const Dependence& law, at::Device device) {
  const auto parameters =
      at::full({1, law.parameter_count()}, 0.5, at::kDouble).to(device);
  const auto ones = at::ones({1, law.rows(), 1}, at::kDouble).to(device);
  return law.precision_times(parameters, ones).view({law.rows()}).cpu();
}

// Dependence parameters at the start, [R, k]: one replica per value of a grid.
at::Tensor start_parameters(const TrainOptions& options, const Dependence& law,
                            at::Device device) {
  const bool is_grid = options.schedule == Schedule::grid && law.parameter_count() > 0;
  const auto starts = is_grid ? options.grid : std::vector<double>{options.start};
  return at::tensor(starts, at::kDouble)
      .unsqueeze(1)
      .expand({static_cast<std::int64_t>(starts.size()), law.parameter_count()})
      .contiguous()
      .to(device);
}

// A step of a small flow is over before a second thread has woken up: on a busy machine
// two threads were twenty times slower than one.
std::int64_t training_threads(const FitRequest& request) {
  constexpr double kWorthAThread = 5e7;
  std::int64_t widest = 1;
  for (const auto width : request.flow.hidden) widest = std::max(widest, width);
  const double multiplications = static_cast<double>(request.train.batch_size) *
                                 static_cast<double>(widest * widest);
  return multiplications < kWorthAThread ? 1 : request.threads;
}

std::string status_line(const Trainer& trainer, const Dependence& law) {
  const auto& last = trainer.history().back();
  const auto best = trainer.best_replica();
  auto line =
      fmt::format("valid NLL {} (best {} at {})", format_nats(last.valid_nll_nats),
                  format_nats(trainer.best_valid_nll(best)), trainer.best_epoch(best));
  if (law.parameter_count() > 0) {
    line +=
        fmt::format(", mean {} {:.3f}", law.kind() == "relationship" ? "lambda" : "rho",
                    last.mean_parameter);
  }
  return line;
}

void train(Trainer& trainer, const RunFolder& folder, const FitPlace& place,
           const FitRequest& request, const Dependence& law, Logger& logger) {
  const auto start = Clock::now();
  const auto first_epoch = trainer.epochs_done();
  auto last_checkpoint = start;
  while (!trainer.finished()) {
    const auto known = trainer.history().size();
    trainer.run_epoch();
    folder.append_metrics(trainer.history(), known);
    for (const auto& warning : trainer.take_warnings()) logger.warning(warning);
    if (seconds_since(last_checkpoint) >= place.checkpoint_seconds) {
      folder.write_checkpoint(trainer.state());
      last_checkpoint = Clock::now();
    }
    const auto done = trainer.epochs_done();
    const double per_epoch =
        seconds_since(start) / static_cast<double>(done - first_epoch);
    logger.progress(
        {.job = "fit",
         .done = done,
         .total = request.train.epochs,
         .unit = "epoch",
         .status = status_line(trainer, law),
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

std::vector<double> parameters_by_label(const at::Tensor& best,
                                        const LearnedDependence& learned) {
  const auto values = best.cpu().contiguous();
  const std::vector<double> parameters(values.data_ptr<double>(),
                                       values.data_ptr<double>() + values.numel());
  if (learned.kind == "blocks" && parameters.size() == 1) {
    return std::vector<double>(learned.labels.size(), parameters.front());
  }
  return parameters;
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
  if (!request.data.relationship.empty()) {
    const auto files = find_relationship(request.data.relationship,
                                         {.ids = request.data.relationship_ids});
    record["relationship_hash"] = file_hash(files.matrix);
    if (!files.ids.empty()) record["relationship_ids_hash"] = file_hash(files.ids);
  }
  return record;
}

// run.json and the model keep the paths, and JSON holds UTF-8 only. Files are read
// twice, the second time for their hashes.
void check_paths(const DataRequest& data) {
  for (const auto& path :
       {data.table, data.valid_table, data.relationship, data.relationship_ids}) {
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
  for (const auto& [key, path] :
       {std::pair{"data_hash", request.data.table},
        std::pair{"valid_hash", request.data.valid_table},
        std::pair{"relationship_hash", request.data.relationship},
        std::pair{"relationship_ids_hash", request.data.relationship}}) {
    if (before.value(key, nlohmann::json()) != now.value(key, nlohmann::json())) {
      throw InputError(path + ": has changed since the run began; start a new fit");
    }
  }
}

}  // namespace

FitResult fit(const FitRequest& given, const FitPlace& place, Logger& logger) {
  const auto request = with_defaults(given);
  const auto start = Clock::now();
  if (!place.resume) RunFolder::check_free(place.directory);
  check_paths(request.data);
  set_threads(request.threads);
  const auto device = find_device(request.device);
  const auto rows = read_fit_rows(request.data, request.train.seed);
  const auto dependence = make_dependence(request, rows, device);

  set_threads(training_threads(request));
  const auto standardization =
      Standardization::from(rows.train.data, row_weights(*dependence.law, device));
  const auto context_standardization = rows.train.context.defined()
                                           ? Standardization::from(rows.train.context)
                                           : Standardization{};
  auto options = request.flow;
  options.dimension = rows.train.data.size(1);
  options.context = rows.train.context.defined() ? rows.train.context.size(1) : 0;
  const auto standardized = standardization.apply(rows.train.data);
  options.bound = request.bound.value_or(spline_bound_for(standardized));
  const auto parameters = start_parameters(request.train, *dependence.law, device);
  const auto type = request.float64 ? at::kDouble : at::kFloat;
  Flow flow(options,
            std::vector<std::uint64_t>(static_cast<std::size_t>(parameters.size(0)),
                                       request.train.seed),
            type, device);
  const auto prepare = [&](const at::Tensor& values, const Standardization& by) {
    return values.defined() ? by.apply(values).to(device, type) : values;
  };
  Trainer trainer(
      flow, *dependence.law,
      {.train = standardized.to(device, type),
       .train_context = prepare(rows.train.context, context_standardization),
       .valid = prepare(rows.valid.data, standardization),
       .valid_context = prepare(rows.valid.context, context_standardization),
       .log_abs_det = standardization.log_abs_det()},
      request.train, parameters);

  auto record = new_record(request);
  if (place.resume) {
    check_same_data(RunFolder::open(place.directory).read_record(), record, request);
  }
  const auto folder = place.resume ? RunFolder::open(place.directory)
                                   : RunFolder::create(place.directory, record);
  if (place.resume) {
    folder.remove_unfinished_files();
    const auto checkpoint = folder.read_checkpoint();
    if (!checkpoint.empty()) trainer.restore(checkpoint, folder.checkpoint_path());
    logger.info(fmt::format("resuming {} after epoch {}", place.directory,
                            trainer.epochs_done()));
  }
  folder.write_metrics(trainer.history());
  if (!rows.relationship_note.empty()) logger.info(rows.relationship_note);
  logger.info(
      fmt::format("{} training rows, {} validation rows, {} column{}; {} {}",
                  rows.train.data.size(0), rows.valid.data.size(0), options.dimension,
                  options.dimension == 1 ? "" : "s", dependence.law->parameter_count(),
                  dependence.law->parameter_count() == 1 ? "dependence parameter"
                                                         : "dependence parameters"));
  try {
    train(trainer, folder, place, request, *dependence.law, logger);
  } catch (const NumericalError& error) {
    record["status"] = "failed";
    record["error"] = error.what();
    folder.write_record(record);
    throw;
  }

  trainer.restore_best();
  const auto best = trainer.best_replica();
  FitResult result{.model = {.columns = rows.columns,
                             .context_columns = request.data.context,
                             .standardization = standardization,
                             .context_standardization = context_standardization,
                             .flow = single_flow(flow, best),
                             .dependence = dependence.learned,
                             .record = {}},
                   .epochs = trainer.epochs_done(),
                   .best_epoch = trainer.best_epoch(best),
                   .valid_nll_nats = trainer.best_valid_nll(best),
                   .seconds = seconds_since(start)};
  result.model.dependence.parameters =
      parameters_by_label(trainer.best_parameters(best), dependence.learned);
  result.model.record = {{"kinflow_version", version()},
                         {"request", record["request"]},
                         {"data_hash", record["data_hash"]},
                         {"train_rows", rows.train.data.size(0)},
                         {"valid_rows", rows.valid.data.size(0)},
                         {"epochs", result.epochs},
                         {"best_epoch", result.best_epoch},
                         {"best_replica", best},
                         {"valid_nll_nats", result.valid_nll_nats},
                         {"skipped_steps", trainer.skipped_steps()}};
  save_model(folder.model_path(), result.model);
  record["status"] = "finished";
  record["result"] = result.model.record;
  record["result"].erase("request");
  record["seconds"] = result.seconds;
  folder.write_record(record);
  folder.remove_checkpoint();
  return result;
}

}  // namespace kinflow
