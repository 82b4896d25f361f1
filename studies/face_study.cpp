// Training and scoring the methods of a study of faces.
#include "studies/face_study.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/fit/images/image_fit.h"
#include "kinflow/fit/images/image_run.h"
#include "kinflow/fit/run_folder.h"

namespace kinflow {
namespace {

constexpr double kCheckpointSeconds = 60;
constexpr std::int64_t kKeptSamples = 64;
constexpr std::int64_t kMostEpochs = 1'000'000;
// Of the preset: with mirrored images twice the usual rate is better.
constexpr double kLightLearningRate = 0.02;
const std::string kGridPrefix = "grid-";

// Of --quick.
constexpr std::int64_t kQuickImages = 1000, kQuickEpochs = 2, kQuickBatch = 32;
constexpr GlowOptions kQuickFlow{
    .steps = 2, .dense_channels = 8, .dense_layers = 1, .dense_growth = 8};

// Says of every message which training it is of.
class TrainingLogger : public Logger {
 public:
  TrainingLogger(std::string training, Logger& logger)
      : training_(std::move(training)), logger_(logger) {}
  void info(const std::string& message) override {
    logger_.info(fmt::format("{}: {}", training_, message));
  }
  void warning(const std::string& message) override {
    logger_.warning(fmt::format("{}: {}", training_, message));
  }
  void progress(const Progress& progress) override {
    auto named = progress;
    named.job = training_;
    logger_.progress(named);
  }

 private:
  std::string training_;
  Logger& logger_;
};

FaceMethod method_of(const std::string& name) {
  if (name == "baseline") return {.name = name};
  if (name == "joint") return {.name = name, .schedule = Schedule::joint};
  if (name == "joint-per-latent") {
    return {.name = name,
            .schedule = Schedule::joint,
            .correlation = BlockCorrelation::per_latent};
  }
  const char* end = name.data() + name.size();
  double value = 0;
  if (name.starts_with(kGridPrefix)) {
    const auto read = std::from_chars(name.data() + kGridPrefix.size(), end, value);
    const bool is_number = read.ec == std::errc() && read.ptr == end;
    if (is_number && value >= kSmallestParameter && value <= kLargestParameter) {
      return {.name = name, .schedule = Schedule::grid, .start = value};
    }
  }
  throw InputError(fmt::format(
      "--methods: expected baseline, joint, joint-per-latent, or grid-RHO with a "
      "correlation from {} to {}, found '{}'",
      kSmallestParameter, kLargestParameter, name));
}

void check_source(const ExperimentOptions& options, const FaceSource& source) {
  if (options.quick) return;
  if (source.folder.empty()) {
    throw InputError("lfw: expected --data DIR, or --quick to simulate, found neither");
  }
  if (source.minutes <= 0) {
    throw InputError("lfw: expected --minutes M of a baseline, found none");
  }
}

Faces faces_of(const ExperimentOptions& options, const FaceSource& source) {
  check_source(options, source);
  set_threads(options.threads);
  if (source.folder.empty()) return simulated_faces(options.first_seed);
  return read_faces(source.folder, options.quick ? kQuickImages : 0);
}

GlowOptions flow_of(const ExperimentOptions& options, const FaceSource& source,
                    const ImageSet& images) {
  auto flow = options.quick ? kQuickFlow
                            : glow_preset(source.preset, images.channels, images.height,
                                          images.width);
  flow.channels = images.channels;
  flow.height = images.height;
  flow.width = images.width;
  return flow;
}

// Seeds may be added to a study.
nlohmann::json description_of(const ExperimentOptions& options,
                              const FaceSource& source, const ImageSet& images) {
  nlohmann::json description = {{"experiment", "lfw"},
                                {"quick", options.quick},
                                {"device", options.device},
                                {"data_hash", set_hash(images)},
                                {"features", "built-in"}};
  if (!options.quick) {
    description["minutes"] = source.minutes;
    description["preset"] = name_of(glow_preset_names(), source.preset);
  }
  return description;
}

// Of a training and of its score.
std::string training_name(const FaceMethod& method, std::uint64_t seed) {
  return fmt::format("{}-{}", method.name, seed);
}

bool holds_run(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/run.json", ignored);
}

}  // namespace

std::string FaceMethod::title() const {
  if (schedule == Schedule::grid) return fmt::format("grid, rho {}", start);
  return correlation == BlockCorrelation::per_latent ? "joint, per latent" : name;
}

std::vector<FaceMethod> face_methods(const std::vector<std::string>& names) {
  if (names.empty()) {
    return face_methods({"baseline", "grid-0.05", "grid-0.1", "grid-0.15", "joint",
                         "joint-per-latent"});
  }
  std::vector<FaceMethod> methods;
  for (const auto& name : names) methods.push_back(method_of(name));
  return methods;
}

FaceStudy::FaceStudy(const ExperimentOptions& options, const FaceSource& source,
                     Logger& logger)
    : options_(options),
      source_(source),
      logger_(logger),
      device_(find_device(options.device)),
      faces_(faces_of(options, source)),
      flow_(flow_of(options, source, faces_.set)),
      folder_(std::make_unique<StudyFolder>(options.directory,
                                            description_of(options, source, faces_.set),
                                            options.overwrite)) {
  if (source.folder.empty()) logger_.info(kSimulatedFaces);
  for (const auto& note : faces_.notes) logger_.info(note);
}

ImageFitRequest FaceStudy::request_for(const FaceMethod& method,
                                       std::uint64_t seed) const {
  ImageFitRequest request{.data = {.path = source_.folder, .prepare = faces_.prepare},
                          .flow = flow_,
                          .grid = {method.start},
                          .device = options_.device,
                          .threads = options_.threads};
  request.train.schedule = method.schedule;
  request.train.start = method.start;
  request.train.correlation = method.correlation;
  request.train.seed = seed;
  request.train.epochs = epochs_.value_or(kMostEpochs);
  request.train.mirror = true;
  if (!options_.quick && source_.preset == GlowPreset::light) {
    request.train.learning_rate = kLightLearningRate;
  }
  if (options_.quick) request.train.batch_size = kQuickBatch;
  return with_defaults(request);
}

std::int64_t FaceStudy::epochs() {
  if (epochs_) return *epochs_;
  constexpr const char* kName = "epochs";
  if (const auto known = folder_->find(kName)) {
    epochs_ =
        JsonReader(*known, folder_->path_of(kName)).integer(kName, 1, kMostEpochs);
    return *epochs_;
  }
  if (options_.quick) {
    epochs_ = kQuickEpochs;
  } else {
    auto request = request_for(method_of("baseline"), options_.first_seed);
    request.minutes = source_.minutes;
    epochs_ = epochs_in_time(request, split(options_.first_seed).fit, device_);
  }
  folder_->keep(kName, {{kName, *epochs_}});
  return *epochs_;
}

ImageModel FaceStudy::train(const FaceMethod& method, std::uint64_t seed,
                            const ImageFitData& data) {
  const auto directory =
      fmt::format("{}/trainings/{}", options_.directory, training_name(method, seed));
  const bool is_there = holds_run(directory);
  if (!is_there || !run_is_finished(directory)) {
    TrainingLogger named(training_name(method, seed), logger_);
    try {
      const auto result = fit_images(request_for(method, seed), data,
                                     {.directory = directory,
                                      .resume = is_there,
                                      .checkpoint_seconds = kCheckpointSeconds,
                                      .stop = options_.stop},
                                     named);
      named.info(fmt::format("best validation {:.4f} bits per dimension, at epoch {}",
                             result.valid_bits_per_dimension, result.best_epoch));
    } catch (const Interrupted&) {
      stop();
    }
  }
  return load_image_model(model_path_of(directory), device_);
}

void FaceStudy::stop() const {
  folder_->write_seconds();
  throw Interrupted("interrupted; the same command goes on");
}

std::optional<ImageMethodScore> FaceStudy::find(const FaceMethod& method,
                                                std::uint64_t seed) const {
  const auto name = training_name(method, seed);
  const auto known = folder_->find(name);
  if (!known) return std::nullopt;
  return image_method_score_from(*known, folder_->path_of(name));
}

ImageMethodScore FaceStudy::run(const FaceMethod& method, std::uint64_t seed) {
  if (auto known = find(method, seed)) return *known;
  if (options_.stop != nullptr && *options_.stop) stop();
  epochs();
  const auto data = split(seed);
  const auto model = train(method, seed, data.fit);
  auto score =
      score_images(method.name, model, data.test,
                   {.seed = seed, .samples = data.test.images()}, kKeptSamples);
  score.best_epoch = model.record.at("best_epoch");
  score.valid_nll_nats = model.record.at("valid_nll_nats");
  score.skipped_steps = model.record.at("skipped_steps");
  folder_->keep(training_name(method, seed), to_json(score));
  return score;
}

}  // namespace kinflow
