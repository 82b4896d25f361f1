// Epochs, validations and the change from one training to the next.
#include "kinflow/fit/images/image_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/fit/run_folder.h"

namespace kinflow {
namespace {

// Steps between two looks at the clock and at signals. Means over them are part of the
// results, so they are always the same.
constexpr std::int64_t kCpuSteps = 1, kGpuSteps = 20;

// Cost of the NLL of an image as a share of a training step's: the gradient takes twice
// the forward pass, and validation is in float32.
constexpr double kValidationCost = 1.0 / 3, kMixedValidationCost = 4.0 / 3;
constexpr double kValidationShare = 0.1;

constexpr const char* kTrainer = "trainer.";
constexpr std::int64_t kHistoryColumns = 7;

std::vector<double> starts_of(const ImageFitRequest& request) {
  if (request.train.schedule == Schedule::grid) return request.grid;
  return {request.train.start};
}

std::int64_t interval_of(const ImageFitRequest& request, const ImageFitData& data) {
  if (request.valid_every > 0) return request.valid_every;
  const double cost = request.train.precision == ImagePrecision::mixed
                          ? kMixedValidationCost
                          : kValidationCost;
  const double share = cost * static_cast<double>(data.valid.images()) /
                       static_cast<double>(data.train.images());
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(share / kValidationShare)));
}

Array images_beside(const ImageSet& set) {
  const auto counts = images_per_person(set);
  std::vector<double> beside;
  for (const auto person : set.person) {
    beside.push_back(static_cast<double>(counts[static_cast<std::size_t>(person)] - 1));
  }
  return nd::tensor(beside, nd::kDouble);
}

ImageTrainOptions options_of(const ImageFitRequest& request, double start) {
  auto options = request.train;
  options.start = start;
  return options;
}

Array history_tensor(const std::vector<ImageEpoch>& history) {
  const auto table = nd::empty(
      {static_cast<std::int64_t>(history.size()), kHistoryColumns}, nd::kDouble);
  auto* out = table.data_ptr<double>();
  for (const auto& epoch : history) {
    *out++ = static_cast<double>(epoch.replica);
    *out++ = static_cast<double>(epoch.epoch);
    *out++ = epoch.train_nll_nats;
    *out++ = epoch.valid_nll_nats;
    *out++ = epoch.typical_parameter;
    *out++ = epoch.gradient_norm;
    *out++ = static_cast<double>(epoch.skipped_steps);
  }
  return table;
}

std::vector<ImageEpoch> history_from(const NamedTensors& state,
                                     const std::string& source) {
  const auto found = state.find("history");
  const auto rows =
      found == state.end() || found->second.dim() == 0 ? 0 : found->second.size(0);
  const auto table =
      expect_tensor(state, "history", {rows, kHistoryColumns}, nd::kDouble, source);
  std::vector<ImageEpoch> history;
  const auto* in = table.data_ptr<double>();
  for (std::int64_t i = 0; i < rows; ++i, in += kHistoryColumns) {
    history.push_back({.replica = static_cast<std::int64_t>(in[0]),
                       .epoch = static_cast<std::int64_t>(in[1]),
                       .train_nll_nats = in[2],
                       .valid_nll_nats = in[3],
                       .typical_parameter = in[4],
                       .gradient_norm = in[5],
                       .skipped_steps = static_cast<std::int64_t>(in[6])});
  }
  return history;
}

// The best state so far from its file.
BestImageModel load_best(const std::string& path) {
  BestImageModel best{.model = load_image_model(path)};
  const JsonReader record(best.model.record, path, "record");
  best.replica = record.integer("best_replica", 0, kManySteps);
  best.epoch = record.integer("best_epoch", 1, kManySteps);
  best.valid_nll_nats = record.number(
      valid_score_key(valid_score_of(best.model.record)),
      std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
  return best;
}

}  // namespace

GlowOptions flow_for(const ImageFitRequest& request, const ImageSet& images) {
  auto flow = request.flow;
  flow.channels = images.channels;
  flow.height = images.height;
  flow.width = images.width;
  return flow;
}

ImageRun::ImageRun(const ImageFitRequest& request, const ImageFitData& data,
                   nd::Device device)
    : request_(request),
      data_(data),
      device_(device),
      flow_(flow_for(request, data.train)),
      train_(rows_of(data.train)),
      valid_(rows_of(data.valid)),
      valid_others_(images_beside(data.valid)),
      starts_(starts_of(request)),
      valid_every_(interval_of(request, data)) {
  begin_training();
}

ImageRun::~ImageRun() = default;

void ImageRun::begin_training() {
  // The memory of the last one is needed.
  trainer_.reset();
  if (is_finished()) return;
  trainer_ = std::make_unique<ImageTrainer>(
      train_, flow_, options_of(request_, starts_[static_cast<std::size_t>(replica_)]),
      device_);
}

std::int64_t ImageRun::total_steps() const {
  const auto batches = data_.train.images() / request_.train.batch_size;
  return replicas() * request_.train.epochs * batches;
}

std::int64_t ImageRun::steps_done() const {
  const auto before = replica_ * (total_steps() / replicas());
  return trainer_ ? before + trainer_->steps_done() : before;
}

std::int64_t ImageRun::parameter_count() const { return GlowLayout(flow_).count; }

void ImageRun::advance() {
  const auto per_epoch = trainer_->steps_per_epoch();
  const auto steps =
      std::min(device_.is_cpu() ? kCpuSteps : kGpuSteps, per_epoch - epoch_steps_);
  const auto progress = trainer_->run(steps);
  last_train_nll_ = progress.train_nll_nats;
  if (progress.taken > 0) {
    epoch_nll_ += progress.train_nll_nats * static_cast<double>(progress.taken);
    epoch_taken_ += progress.taken;
  }
  epoch_steps_ += steps;
  if (epoch_steps_ == per_epoch) end_epoch(progress);
}

void ImageRun::end_epoch(const ImageProgress& progress) {
  const auto number = progress.steps_done / epoch_steps_;
  ImageEpoch epoch{.replica = replica_,
                   .epoch = number,
                   .train_nll_nats = epoch_nll_ / static_cast<double>(epoch_taken_),
                   .valid_nll_nats = std::numeric_limits<double>::quiet_NaN(),
                   .typical_parameter = progress.mean_correlation,
                   .gradient_norm = progress.gradient_norm,
                   .skipped_steps = progress.skipped};
  const bool is_validated = trainer_->is_finished() || number % valid_every_ == 0;
  if (is_validated) {
    epoch.valid_nll_nats = valid_nll();
    keep_if_best(epoch);
  }
  last_failure_ = why_diverged(epoch);
  if (last_failure_.empty() && is_validated && !std::isfinite(epoch.valid_nll_nats)) {
    last_failure_ = fmt::format("the validation NLL of epoch {} is not finite", number);
  }
  history_.push_back(epoch);
  epoch_steps_ = epoch_taken_ = 0;
  epoch_nll_ = 0;
  if (!last_failure_.empty() || trainer_->is_finished()) end_training();
}

ValidScore ImageRun::valid_score() const {
  const bool is_weighted = data_.holds_people_out &&
                           request_.train.schedule != Schedule::baseline &&
                           valid_others_.max().item<double>() > 0;
  return is_weighted ? ValidScore::weighted : ValidScore::rows;
}

double ImageRun::valid_nll() const {
  const auto nll = image_nll(trainer_->flow(), valid_, request_.train.seed);
  if (valid_score() == ValidScore::rows) return nll.mean().item<double>();
  // The trainings of a grid are compared with each other, so under the same weights.
  const auto correlations = request_.train.schedule == Schedule::grid
                                ? nd::tensor(starts_, nd::kDouble).mean().view({1})
                                : trainer_->typical_correlations();
  // Without people who repeat there is nothing to learn, and all images count alike.
  if (correlations.numel() == 0) return nll.mean().item<double>();
  const auto weights =
      (1 + nd::outer(valid_others_, correlations)).reciprocal().mean(1);
  return (weights * nll).sum().item<double>() / weights.sum().item<double>();
}

std::string ImageRun::why_diverged(const ImageEpoch& epoch) const {
  const bool is_first = history_.empty() || history_.back().replica != replica_;
  const auto skipped =
      epoch.skipped_steps - (is_first ? 0 : history_.back().skipped_steps);
  if (2 * skipped <= epoch_steps_) return {};
  return fmt::format("{} of the {} steps of epoch {} had gradients that are not finite",
                     skipped, epoch_steps_, epoch.epoch);
}

void ImageRun::end_training() {
  if (!last_failure_.empty()) {
    const auto which = replicas() == 1
                           ? std::string("the training")
                           : fmt::format("the training with rho {}",
                                         starts_[static_cast<std::size_t>(replica_)]);
    last_failure_ = fmt::format("{} diverged: {}; a smaller --learning-rate may help",
                                which, last_failure_);
    const bool was_last_hope = replica_ + 1 == replicas() && !best_;
    if (replicas() == 1 || was_last_hope) throw NumericalError(last_failure_);
    warnings_.push_back(last_failure_);
  }
  ++replica_;
  begin_training();
}

void ImageRun::keep_if_best(const ImageEpoch& epoch) {
  if (!std::isfinite(epoch.valid_nll_nats)) return;
  if (best_ && !(epoch.valid_nll_nats < best_->valid_nll_nats)) return;
  if (!best_) {
    best_.emplace();
    best_->model.flow = std::make_unique<GlowFlow>(flow_, request_.train.seed);
  }
  best_->model.flow->copy_from(trainer_->flow());
  best_->model.prepare = request_.data.prepare;
  best_->model.dependence = learned();
  const auto of_latents = trainer_->latent_correlations().contiguous();
  best_->model.latent_correlations = {
      of_latents.data_ptr<double>(),
      of_latents.data_ptr<double>() + of_latents.numel()};
  best_->model.record = {{"best_replica", epoch.replica},
                         {"best_epoch", epoch.epoch},
                         {"valid_score", name_of(valid_score_names(), valid_score())},
                         {valid_score_key(valid_score()), epoch.valid_nll_nats}};
  best_->replica = epoch.replica;
  best_->epoch = epoch.epoch;
  best_->valid_nll_nats = epoch.valid_nll_nats;
  best_is_saved_ = false;
}

LearnedDependence ImageRun::learned() const {
  if (request_.train.schedule == Schedule::baseline) return {};
  LearnedDependence learned{.kind = DependenceKind::blocks, .column = "person"};
  const auto& train = data_.train;
  const auto sizes = images_per_person(train);
  const auto names = names_of_people(train);
  const auto people = trainer_->correlated_people().contiguous();
  const auto correlations = trainer_->correlations().contiguous();
  for (std::int64_t i = 0; i < people.size(0); ++i) {
    const auto person = static_cast<std::size_t>(people.data_ptr<std::int64_t>()[i]);
    learned.labels.push_back(names[person]);
    learned.sizes.push_back(sizes[person]);
    learned.parameters.push_back(correlations.data_ptr<double>()[i]);
  }
  return learned;
}

std::vector<std::string> ImageRun::take_warnings() {
  return std::exchange(warnings_, {});
}

std::int64_t ImageRun::skipped_steps() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < history_.size(); ++i) {
    const bool is_last =
        i + 1 == history_.size() || history_[i + 1].replica != history_[i].replica;
    if (is_last) sum += history_[i].skipped_steps;
  }
  return sum;
}

void ImageRun::save_best(const std::string& path) {
  if (best_is_saved_) return;
  save_image_model(path, best_->model);
  best_is_saved_ = true;
}

NamedTensors ImageRun::state() const {
  NamedTensors state = {{"history", history_tensor(history_)},
                        {"replica", nd::full({1}, replica_, nd::kLong)}};
  // A training that has not begun is made anew.
  if (!trainer_ || trainer_->steps_done() == 0) return state;
  for (const auto& [name, tensor] : trainer_->state()) state[kTrainer + name] = tensor;
  return state;
}

void ImageRun::restore(const NamedTensors& state, const std::string& source,
                       const std::string& best_path) {
  const auto replica =
      expect_tensor(state, "replica", {1}, nd::kLong, source).item<std::int64_t>();
  if (replica < 0 || replica > replicas()) {
    throw InputError(fmt::format("{}: tensor 'replica': expected 0 to {}, found {}",
                                 source, replicas(), replica));
  }
  history_ = history_from(state, source);
  NamedTensors of_trainer;
  for (const auto& [name, tensor] : state) {
    if (name.rfind(kTrainer, 0) == 0) {
      of_trainer[name.substr(std::string(kTrainer).size())] = tensor;
    }
  }
  const bool was_other = replica != replica_;
  replica_ = replica;
  if (was_other) begin_training();
  if (trainer_ && !of_trainer.empty()) trainer_->restore(of_trainer, source);
  const bool has_best = std::any_of(
      history_.begin(), history_.end(),
      [](const ImageEpoch& epoch) { return std::isfinite(epoch.valid_nll_nats); });
  if (!has_best) return;
  best_ = load_best(best_path);
  if (best_->model.flow->options() != flow_) {
    throw InputError(best_path + ": expected the flow of the run, found another");
  }
}

namespace {

// Of a training that begins; 0 where it has too few steps to tell.
double seconds_per_step(ImageTrainer& trainer, nd::Device device) {
  constexpr std::int64_t kTimedSteps = 10;
  constexpr double kTimedSeconds = 3;
  // The first steps also prepare what all others use.
  trainer.run(device.is_cpu() ? 1 : 3);
  const auto start = Clock::now();
  std::int64_t timed = 0;
  while (timed < kTimedSteps && seconds_since(start) < kTimedSeconds &&
         !trainer.is_finished()) {
    trainer.run(1);
    ++timed;
  }
  return timed == 0 ? 0 : seconds_since(start) / static_cast<double>(timed);
}

double seconds_of_validation(const GlowFlow& flow, ImageRows valid) {
  constexpr std::int64_t kTimedImages = 256;
  const auto all = valid.pixels.size(0), timed = std::min(kTimedImages, all);
  valid.pixels = valid.pixels.narrow(0, 0, timed);
  const auto start = Clock::now();
  image_nll(flow, valid, 0);
  return seconds_since(start) * static_cast<double>(all) / static_cast<double>(timed);
}

}  // namespace

std::int64_t epochs_in_time(const ImageFitRequest& request, const ImageFitData& data,
                            nd::Device device) {
  const auto starts = starts_of(request);
  ImageTrainer trainer(rows_of(data.train), flow_for(request, data.train),
                       options_of(request, starts.front()), device);
  const double step = seconds_per_step(trainer, device);
  if (step == 0) return request.train.epochs;
  const double epoch = step * static_cast<double>(trainer.steps_per_epoch()) +
                       seconds_of_validation(trainer.flow(), rows_of(data.valid)) /
                           static_cast<double>(interval_of(request, data));
  const double of_one = 60 * *request.minutes / static_cast<double>(starts.size());
  return static_cast<std::int64_t>(std::clamp(
      std::floor(of_one / epoch), 1.0, static_cast<double>(request.train.epochs)));
}

}  // namespace kinflow
