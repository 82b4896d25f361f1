// Epochs, validation, early stopping and recovery.
#include "kinflow/engine/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/steady_math.h"
#include "kinflow/core/error.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

// The learning rate falls by this factor at equal parts of the whole training.
constexpr double kRateDecay = 0.9;
constexpr std::int64_t kRateSteps = 32;
// A replica has diverged when its NLL is this many nats per column above its start.
constexpr double kDivergenceNatsPerColumn = 5;
constexpr double kRestartFactor = 0.1;

// Bounds of the batches of one epoch. A last batch of one row joins the one before:
// pairs need two.
std::vector<std::int64_t> batch_bounds(std::int64_t rows, std::int64_t batch_size) {
  std::vector<std::int64_t> bounds;
  for (std::int64_t start = 0; start < rows; start += batch_size)
    bounds.push_back(start);
  if (bounds.size() > 1 && rows - bounds.back() == 1) bounds.pop_back();
  bounds.push_back(rows);
  return bounds;
}

// One number of every replica's options, [R, 1].
template <typename Of>
Array column_of(const std::vector<TrainOptions>& options, nd::Device device,
                const Of& of) {
  std::vector<double> numbers;
  for (const auto& replica : options)
    numbers.push_back(static_cast<double>(of(replica)));
  return nd::tensor(numbers, nd::kDouble).unsqueeze(1).to(device);
}

void check_shared(const std::vector<TrainOptions>& options, std::int64_t replicas) {
  const auto& first = options.front();
  const bool is_shared =
      std::all_of(options.begin(), options.end(), [&](const TrainOptions& other) {
        return other.epochs == first.epochs && other.batch_size == first.batch_size &&
               other.patience == first.patience && other.seed == first.seed &&
               other.stage_epochs == first.stage_epochs;
      });
  if (is_shared && static_cast<std::int64_t>(options.size()) == replicas) return;
  throw InputError(
      "[Trainer] expected options of each replica with common epochs, batch size, "
      "patience, stages and seed, received others");
}

}  // namespace

Trainer::Trainer(Flow& flow, const Dependence& dependence, TrainingData data,
                 const TrainOptions& options, const Array& start, Engine engine)
    : Trainer(
          flow, dependence, std::move(data),
          std::vector<TrainOptions>(static_cast<std::size_t>(flow.replicas()), options),
          start, engine) {}

Trainer::Trainer(Flow& flow, const Dependence& dependence, TrainingData data,
                 std::vector<TrainOptions> options, const Array& start, Engine engine)
    : flow_(flow),
      dependence_(dependence),
      data_(std::move(data)),
      options_(std::move(options)),
      batch_bounds_(batch_bounds(data_.train.size(0), options_.at(0).batch_size)),
      state_(flow, dependence.to_unconstrained(start)) {
  check_shared(options_, flow.replicas());
  replica_training_ = make_replica_training(state_, dependence, data_.train,
                                            data_.train_context, options_, engine);
  const auto device = flow.values().device();
  std::vector<EstimatorChoice> choices;
  for (const auto& replica : options_) {
    choices.push_back(estimator_choice(replica, dependence));
    has_memory_ |= choices.back().needs_memory;
    has_moving_parameters_ |= choices.back().moves_parameters;
  }
  const auto of = [&](const auto& number) {
    return column_of(options_, device, number);
  };
  learning_rates_ = of([](const auto& o) { return o.learning_rate; });
  dependence_rates_ = of([](const auto& o) { return o.dependence_rate; });
  priors_ = of([](const auto& o) { return o.prior; });
  learns_parameters_ =
      of([](const auto& o) {
        return o.schedule == Schedule::joint || o.schedule == Schedule::alternating;
      }).gt(0);
  moves_parameters_ =
      numbers_of(choices, device,
                 [](const EstimatorChoice& c) { return c.moves_parameters; })
          .unsqueeze(1)
          .gt(0);
  if (!replica_training_) {
    weight_decays_ = flow.decay_mask() * of([](const auto& o) {
                                           return o.weight_decay;
                                         }).to(flow.values().scalar_type());
    uses_kernels_ = data_.train.is_cpu();
    pass_ = make_batch_pass(flow, data_.train, data_.train_context, engine);
    estimator_ = engine == Engine::steps
                     ? make_composed_estimator(dependence, choices)
                     : dependence.make_estimator(choices, data_.train.scalar_type());
    const auto numbers = nd::TensorOptions().device(device).dtype(nd::kDouble);
    const auto batches = static_cast<std::int64_t>(batch_bounds_.size()) - 1;
    epoch_io_ = {.order = nd::empty({data_.train.size(0)}, numbers.dtype(nd::kLong)),
                 .rates = nd::empty({batches, flow.replicas(), 1}, numbers),
                 .active = nd::empty({flow.replicas(), 1}, numbers.dtype(nd::kBool)),
                 .train_nll = nd::empty({flow.replicas(), 1}, numbers)};
    if (estimator_->is_repeatable() && pass_->is_repeatable()) {
      recorded_steps_ = make_repeated_work([this] { take_steps(); });
    }
  }
  const auto column = [&](nd::ScalarType type, double value) {
    return nd::full({flow.replicas(), 1}, value, flow.values().options().dtype(type));
  };
  rate_factor_ = column(flow.values().scalar_type(), 1);
  restarts_ = column(nd::kLong, 0);
  state_.skipped = column(nd::kLong, 0);
  best_epoch_ = column(nd::kLong, 0);
  initial_nll_ = valid_nll();
  if (!nd::isfinite(initial_nll_).all().item<bool>()) {
    throw NumericalError(
        "the untrained flow gives no finite density on the validation "
        "rows: are there values beyond 1e18 standard deviations?");
  }
  best_nll_ = initial_nll_.clone();
  best_values_ = flow_.values().clone();
  best_parameters_ = start.clone();
  reset_memory(nd::ones_like(restarts_, nd::kBool));
  add_to_history(column(nd::kDouble, std::numeric_limits<double>::quiet_NaN()),
                 initial_nll_, learning_rate());
}

void Trainer::reset_memory(const Array& which) {
  if (!has_memory_) return;
  auto latents = all_train_latents();
  if (const auto* before = remembered_latents()) {
    latents = nd::where(which.unsqueeze(2), latents, *before);
  }
  if (estimator_) estimator_->reset(latents);
  if (replica_training_) replica_training_->reset_memory(latents);
}

Array Trainer::is_stopped() const {
  return (best_epoch_ + shared_options().patience)
      .le(epoch_)
      .logical_or(restarts_.gt(kMaximumRestarts));
}

bool Trainer::finished() const {
  return epoch_ >= shared_options().epochs || is_stopped().all().item<bool>();
}

double Trainer::rate_factor(std::int64_t batch) const {
  const auto batches = static_cast<std::int64_t>(batch_bounds_.size()) - 1;
  const std::int64_t decays =
      kRateSteps * (epoch_ * batches + batch) / (shared_options().epochs * batches);
  return std::pow(kRateDecay, static_cast<double>(decays));
}

Array Trainer::learning_rate() const {
  return learning_rates_ * rate_factor_ * rate_factor(0);
}

EpochPlan Trainer::plan_epoch() const {
  EpochPlan plan{.seed = shared_options().seed,
                 .epoch = epoch_,
                 .bounds = batch_bounds_,
                 .rate_factors = {},
                 .rates = {},
                 .active = {}};
  plan.rate_factors.reserve(static_cast<std::size_t>(plan.batches()));
  for (std::int64_t batch = 0; batch < plan.batches(); ++batch) {
    plan.rate_factors.push_back(rate_factor(batch));
  }
  const auto rates = (learning_rates_ * rate_factor_).cpu();
  const auto stopped = is_stopped().cpu();
  for (std::int64_t replica = 0; replica < replicas(); ++replica) {
    plan.rates.push_back(rates[replica].item<double>());
    plan.active.push_back(stopped[replica].item<bool>() ? 0 : 1);
  }
  return plan;
}

void Trainer::run_epoch() {
  const auto stage = shared_options().stage_epochs;
  if (epoch_ > 0 && epoch_ % stage == 0) parameter_stage();
  // Sums are taken anew from the latents: rounding does not add up, and a checkpoint
  // needs the latents only.
  if (estimator_ && has_memory_) estimator_->reset(estimator_->latents());
  const auto rate = learning_rate();
  const auto plan = plan_epoch();
  const auto columns = static_cast<double>(data_.train.size(1));
  const auto train_nll =
      (replica_training_ ? replica_training_->run_epoch(plan) : run_steps(plan)) +
      (0.5 * columns * std::log(2 * std::numbers::pi) - data_.train_log_abs_det);
  ++epoch_;
  finish_epoch(train_nll, rate);
}

Calibration Trainer::calibration() const {
  return calibrate(all_latents(flow_, data_.valid, data_.valid_context).latents,
                   training_information(best_parameters_));
}

Array Trainer::training_information(const Array& parameters) const {
  return steady_sum(dependence_.row_worth(parameters)).clamp_min(0);
}

Array Trainer::valid_row_densities() const {
  if (!data_.calibrates) {
    return row_log_density(flow_, data_.valid, data_.valid_context);
  }
  const auto result = all_latents(flow_, data_.valid, data_.valid_context);
  const auto information =
      training_information(dependence_.from_unconstrained(state_.unconstrained));
  const auto calibrated = calibrate(result.latents, information).apply(result);
  return standard_normal_log_density(calibrated.latents) + calibrated.log_abs_det;
}

Array Trainer::valid_row_weights(const Array& parameters) const {
  if (data_.valid_law == nullptr) return {};
  const auto of_valid_law = steady_sum(
      dependence_.interpreted(parameters).unsqueeze(1) * data_.valid_weights.t());
  // A row whose relatives say it all may have a negative weight.
  return data_.valid_law->row_worth(of_valid_law).clamp_min(0);
}

Array Trainer::valid_nll() const {
  auto densities = valid_row_densities().to(nd::kDouble);
  if (data_.valid_log_abs_det.defined())
    densities = densities + data_.valid_log_abs_det;
  const auto weights =
      valid_row_weights(dependence_.from_unconstrained(state_.unconstrained));
  const auto mean =
      weights.defined()
          ? steady_sum(densities * weights) / steady_sum(weights)
          : steady_sum(densities) / static_cast<double>(data_.valid.size(0));
  return mean.unsqueeze(1).neg();
}

void Trainer::finish_epoch(const Array& train_nll, const Array& rate) {
  const auto nll = valid_nll();
  // A replica whose patience ended before this epoch stays as it was.
  const auto in_time = (best_epoch_ + shared_options().patience)
                           .ge(epoch_)
                           .logical_and(restarts_.le(kMaximumRestarts));
  const auto better = nll.lt(best_nll_).logical_and(in_time);
  best_nll_ = nd::where(better, nll, best_nll_);
  best_epoch_ = nd::where(better, nd::full_like(best_epoch_, epoch_), best_epoch_);
  best_values_ = nd::where(better, flow_.values(), best_values_);
  // Given values stay as they were given, to the last bit.
  best_parameters_ =
      nd::where(better.logical_and(learns_parameters_),
                dependence_.from_unconstrained(state_.unconstrained), best_parameters_);
  add_to_history(train_nll, nll, rate);
  recover_diverged(nll);
}

void Trainer::recover_diverged(const Array& nll) {
  const double margin =
      kDivergenceNatsPerColumn * static_cast<double>(data_.train.size(1));
  // Written so that NaN counts as diverged.
  const auto diverged = nll.le(initial_nll_ + margin)
                            .logical_not()
                            .logical_and(is_stopped().logical_not());
  if (!diverged.any().item<bool>()) return;
  flow_.values().copy_(nd::where(diverged, best_values_, flow_.values()));
  state_.unconstrained.copy_(nd::where(
      diverged, dependence_.to_unconstrained(best_parameters_), state_.unconstrained));
  rate_factor_ = nd::where(diverged, rate_factor_ * kRestartFactor, rate_factor_);
  restarts_ += diverged;
  state_.flow_optimizer.reset(diverged);
  state_.dependence_optimizer.reset(diverged);
  reset_memory(diverged);
  if (restarts_.gt(kMaximumRestarts).all().item<bool>()) {
    throw NumericalError(fmt::format(
        "training diverged {} times, last at epoch {}; try a smaller --learning-rate "
        "(it was {})",
        kMaximumRestarts + 1, epoch_, learning_rates_.max().item<double>()));
  }
}

Array Trainer::typical_parameters() const {
  const auto parameters =
      dependence_.interpreted(dependence_.from_unconstrained(state_.unconstrained));
  if (parameters.size(1) == 0) return nd::zeros_like(initial_nll_);
  const auto weights = data_.typical_weights.defined()
                           ? data_.typical_weights.t()
                           : nd::full_like(parameters.narrow(0, 0, 1),
                                           1 / static_cast<double>(parameters.size(1)));
  return steady_sum(parameters * weights).unsqueeze(1);
}

void Trainer::add_to_history(const Array& train_nll, const Array& nll,
                             const Array& rate) {
  const auto rows =
      nd::cat({train_nll, nll, rate.to(nd::kDouble), typical_parameters()}, 1)
          .cpu()
          .contiguous();
  const auto* row = rows.data_ptr<double>();
  for (std::int64_t replica = 0; replica < flow_.replicas();
       ++replica, row += kHistoryColumns) {
    history_.push_back({.epoch = epoch_,
                        .replica = replica,
                        .train_nll_nats = row[0],
                        .valid_nll_nats = row[1],
                        .learning_rate = row[2],
                        .typical_parameter = row[3]});
  }
}

std::vector<std::string> Trainer::take_warnings() {
  return std::exchange(warnings_, {});
}

std::int64_t Trainer::best_replica() const {
  return best_nll_.argmin().item<std::int64_t>();
}

void Trainer::restore_best() { flow_.values().copy_(best_values_); }

double Trainer::best_valid_nll(std::int64_t replica) const {
  return best_nll_[replica][0].item<double>();
}

std::int64_t Trainer::best_epoch(std::int64_t replica) const {
  return best_epoch_[replica][0].item<std::int64_t>();
}

bool Trainer::has_failed(std::int64_t replica) const {
  return restarts_[replica][0].item<std::int64_t>() > kMaximumRestarts;
}

std::int64_t Trainer::lost_replicas() const {
  return restarts_.gt(kMaximumRestarts).sum().item<std::int64_t>();
}

std::int64_t Trainer::restarts(std::int64_t replica) const {
  // The last one of a replica that is lost led nowhere.
  return std::min(restarts_[replica][0].item<std::int64_t>(), kMaximumRestarts);
}

std::int64_t Trainer::earliest_end() const {
  const auto last_of_patience = (best_epoch_ + shared_options().patience)
                                    .masked_fill(is_stopped(), epoch_)
                                    .max()
                                    .item<std::int64_t>();
  return std::min(last_of_patience, shared_options().epochs);
}

std::int64_t Trainer::epochs_of(std::int64_t replica) const {
  return std::min(epoch_, best_epoch(replica) + shared_options().patience);
}

Array Trainer::best_parameters(std::int64_t replica) const {
  return best_parameters_[replica].clone();
}

std::int64_t Trainer::skipped_steps() const {
  return state_.skipped.sum().item<std::int64_t>();
}

std::int64_t Trainer::skipped_steps(std::int64_t replica) const {
  return state_.skipped[replica][0].item<std::int64_t>();
}

}  // namespace kinflow
