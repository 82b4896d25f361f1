// Steps, validation, early stopping, recovery and checkpoint state.
#include "kinflow/train/trainer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

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
// Batches for which the history takes one value of log det C: for some structures it
// costs as much as all rows.
constexpr std::size_t kLogDetInterval = 16;
// Numbers kept of an epoch and a replica.
constexpr std::int64_t kHistoryColumns = 4;

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

// Latents that overflowed count as 0, so that sums of latents stay sound.
at::Tensor finite(const at::Tensor& latents) {
  return at::nan_to_num(latents, 0, 0, 0);
}

bool needs_memory(const TrainOptions& options, const Dependence& dependence) {
  if (dependence.parameter_count() == 0) return false;
  if (options.estimator == Estimator::memory) return true;
  return options.estimator == Estimator::hybrid &&
         (options.schedule == Schedule::joint || options.memory_share > 0);
}

}  // namespace

Trainer::Trainer(Flow& flow, const Dependence& dependence, TrainingData data,
                 const TrainOptions& options, const at::Tensor& start)
    : flow_(flow),
      dependence_(dependence),
      data_(std::move(data)),
      options_(options),
      batch_bounds_(batch_bounds(data_.train.size(0), options.batch_size)),
      memory_(needs_memory(options, dependence) ? dependence.make_memory() : nullptr),
      flow_optimizer_(flow.values()),
      unconstrained_(dependence.to_unconstrained(start)),
      dependence_optimizer_(unconstrained_) {
  const c10::NoGradGuard no_grad;
  const auto column = [&](at::ScalarType type, double value) {
    return at::full({flow.replicas(), 1}, value, flow.values().options().dtype(type));
  };
  rate_factor_ = column(flow.values().scalar_type(), 1);
  restarts_ = column(at::kLong, 0);
  skipped_ = column(at::kLong, 0);
  best_epoch_ = column(at::kLong, 0);
  initial_nll_ = valid_nll();
  if (!at::isfinite(initial_nll_).all().item<bool>()) {
    throw NumericalError(
        "the untrained flow gives no finite density on the validation "
        "rows: are there values beyond 1e18 standard deviations?");
  }
  best_nll_ = initial_nll_.clone();
  best_values_ = flow_.values().clone();
  best_parameters_ = start.clone();
  reset_memory();
  add_to_history(column(at::kDouble, std::numeric_limits<double>::quiet_NaN()),
                 initial_nll_, learning_rate(0));
}

at::Tensor Trainer::for_all_replicas(const at::Tensor& rows) const {
  return rows.unsqueeze(0).expand({flow_.replicas(), rows.size(0), rows.size(1)});
}

void Trainer::reset_memory() {
  if (!memory_) return;
  memory_->reset(all_train_latents());
}

at::Tensor Trainer::is_stopped() const {
  return (best_epoch_ + options_.patience)
      .le(epoch_)
      .logical_or(restarts_.gt(kMaximumRestarts));
}

bool Trainer::finished() const {
  return epoch_ >= options_.epochs || is_stopped().all().item<bool>();
}

at::Tensor Trainer::all_train_latents() const {
  return finite(all_latents(flow_, data_.train, data_.train_context).latents);
}

at::Tensor Trainer::learning_rate(std::int64_t batch) const {
  const auto batches = static_cast<std::int64_t>(batch_bounds_.size()) - 1;
  const std::int64_t decays =
      kRateSteps * (epoch_ * batches + batch) / (options_.epochs * batches);
  return rate_factor_ *
         (options_.learning_rate * std::pow(kRateDecay, static_cast<double>(decays)));
}

void Trainer::run_epoch() {
  const bool stage_begins = options_.schedule == Schedule::alternating && epoch_ > 0 &&
                            epoch_ % options_.stage_epochs == 0;
  if (stage_begins) parameter_stage();
  // Sums are taken anew from the latents: rounding does not add up, and a checkpoint
  // needs the latents only.
  if (memory_) memory_->reset(memory_->latents());

  Random random(options_.seed, stream(Purpose::row_order, epoch_));
  const std::int64_t rows = data_.train.size(0);
  const auto order = at::tensor(random.permutation(rows)).to(data_.train.device());
  const auto batches = batch_bounds_.size() - 1;
  const auto moves = dependence_.has_costly_parameters()
                         ? std::min(batches, static_cast<std::size_t>(kCostlySteps))
                         : batches;
  const bool is_joint =
      options_.schedule == Schedule::joint && dependence_.parameter_count() > 0;
  auto train_nll = at::zeros_like(best_nll_);
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const std::int64_t begin = batch_bounds_[batch];
    const std::int64_t count = batch_bounds_[batch + 1] - begin;
    if (batch % kLogDetInterval == 0) {
      log_det_ = dependence_.log_det(dependence_.from_unconstrained(unconstrained_));
    }
    train_nll +=
        step(order.narrow(0, begin, count),
             learning_rate(static_cast<std::int64_t>(batch)),
             is_joint && (batch + 1) * moves / batches != batch * moves / batches) *
        (static_cast<double>(count) / static_cast<double>(rows));
  }
  const auto rate = learning_rate(0);
  ++epoch_;
  finish_epoch(train_nll, rate);
}

at::Tensor Trainer::step(const at::Tensor& rows, const at::Tensor& rate,
                         bool moves_dependence) {
  const auto take = [&](const at::Tensor& all) {
    return all.defined() ? for_all_replicas(all.index_select(0, rows)) : all;
  };
  const auto result = flow_.to_latent(take(data_.train), take(data_.train_context));

  // The gradient of the quadratic form in a row is that row of C^-1 U, a constant here.
  const auto parameters = dependence_.from_unconstrained(unconstrained_);
  const auto latents = finite(result.latents.detach());
  if (memory_) memory_->update(rows, latents);
  const auto precision_rows =
      estimated_precision_rows(parameters, rows, latents).to(latents.scalar_type());
  const auto losses = (result.latents * precision_rows).sum(-1) - result.log_abs_det;
  const auto gradient = flow_.gradient_of(losses.mean(1).sum());

  const c10::NoGradGuard no_grad;
  const auto sound = at::isfinite(gradient.norm(2, 1, true));
  skipped_ += sound.logical_not();
  const auto decay = flow_.decay_mask() * options_.weight_decay;
  flow_optimizer_.step(flow_.values(), gradient, rate, decay, sound);
  if (moves_dependence) {
    const auto parameter_gradient =
        memory_ ? memory_->parameter_gradient(parameters)
                : dependence_.pairs_parameter_gradient(parameters, rows, latents);
    step_dependence(parameters, parameter_gradient, rate * options_.dependence_rate,
                    sound);
  }
  return batch_nll(losses.detach(), latents, precision_rows);
}

at::Tensor Trainer::estimated_precision_rows(const at::Tensor& parameters,
                                             const at::Tensor& rows,
                                             const at::Tensor& latents) const {
  const double share = memory_ == nullptr ? 0
                       : options_.estimator == Estimator::memory
                           ? 1
                           : options_.memory_share;
  if (share == 1) return memory_->precision_rows(parameters, rows);
  const auto pairs = dependence_.pairs_rows(parameters, rows, latents);
  if (share == 0) return pairs;
  return at::lerp(pairs, memory_->precision_rows(parameters, rows), share);
}

// `losses` hold the whole quadratic form of a row; the likelihood has half of it.
at::Tensor Trainer::batch_nll(const at::Tensor& losses, const at::Tensor& latents,
                              const at::Tensor& precision_rows) const {
  const auto columns = static_cast<double>(data_.train.size(1));
  const auto half = (latents * precision_rows).sum(-1).mul(0.5);
  auto nll = (losses - half).to(at::kDouble).mean(1, true);
  nll += log_det_.unsqueeze(1) *
         (0.5 * columns / static_cast<double>(data_.train.size(0)));
  return nll + 0.5 * columns * std::log(2 * std::numbers::pi) - data_.log_abs_det;
}

void Trainer::step_dependence(const at::Tensor& parameters, const at::Tensor& gradient,
                              const at::Tensor& rate, const at::Tensor& active) {
  // A weak prior keeps the parameters of small blocks away from 0 and 1.
  const auto per_row =
      (dependence_.unconstrained_gradient(parameters, gradient) +
       options_.prior * dependence_.unconstrained_prior_gradient(parameters)) /
      static_cast<double>(data_.train.size(0));
  const auto sound = at::isfinite(per_row).all(1, true).logical_and(active);
  dependence_optimizer_.step(unconstrained_, per_row, rate.to(at::kDouble), {}, sound);
}

void Trainer::parameter_stage() {
  const c10::NoGradGuard no_grad;
  if (dependence_.parameter_count() == 0) return;
  try {
    unconstrained_ = dependence_.to_unconstrained(dependence_.most_likely(
        all_train_latents(), dependence_.from_unconstrained(unconstrained_),
        options_.prior));
  } catch (const NumericalError& error) {
    warnings_.push_back(
        fmt::format("epoch {}: the dependence parameters stay as they were: {}", epoch_,
                    error.what()));
  }
}

at::Tensor Trainer::valid_nll() const {
  const c10::NoGradGuard no_grad;
  if (data_.valid_law == nullptr) {
    const auto density = row_log_density(flow_, data_.valid, data_.valid_context);
    return density.to(at::kDouble).mean(1, true).neg().sub(data_.log_abs_det);
  }
  const auto result = all_latents(flow_, data_.valid, data_.valid_context);
  const auto parameters =
      dependence_.from_unconstrained(unconstrained_).matmul(data_.valid_weights);
  const auto density = data_.valid_law->log_density(parameters, result.latents) +
                       result.log_abs_det.to(at::kDouble).sum(1);
  return density.unsqueeze(1)
      .div(static_cast<double>(data_.valid.size(0)))
      .neg()
      .sub(data_.log_abs_det);
}

void Trainer::finish_epoch(const at::Tensor& train_nll, const at::Tensor& rate) {
  const c10::NoGradGuard no_grad;
  const auto nll = valid_nll();
  // A replica whose patience ended before this epoch stays as it was.
  const auto in_time = (best_epoch_ + options_.patience)
                           .ge(epoch_)
                           .logical_and(restarts_.le(kMaximumRestarts));
  const auto better = nll.lt(best_nll_).logical_and(in_time);
  best_nll_ = at::where(better, nll, best_nll_);
  best_epoch_ = at::where(better, at::full_like(best_epoch_, epoch_), best_epoch_);
  best_values_ = at::where(better, flow_.values(), best_values_);
  best_parameters_ = at::where(better, dependence_.from_unconstrained(unconstrained_),
                               best_parameters_);
  add_to_history(train_nll, nll, rate);
  recover_diverged(nll);
}

void Trainer::recover_diverged(const at::Tensor& nll) {
  const double margin =
      kDivergenceNatsPerColumn * static_cast<double>(data_.train.size(1));
  // Written so that NaN counts as diverged.
  const auto diverged = nll.le(initial_nll_ + margin)
                            .logical_not()
                            .logical_and(is_stopped().logical_not());
  if (!diverged.any().item<bool>()) return;
  flow_.values().copy_(at::where(diverged, best_values_, flow_.values()));
  unconstrained_ = at::where(diverged, dependence_.to_unconstrained(best_parameters_),
                             unconstrained_);
  rate_factor_ = at::where(diverged, rate_factor_ * kRestartFactor, rate_factor_);
  restarts_ += diverged;
  flow_optimizer_.reset(diverged);
  dependence_optimizer_.reset(diverged);
  reset_memory();
  warnings_.push_back(fmt::format(
      "epoch {}: training diverged (validation NLL {}); back to the best weights with "
      "a "
      "tenth of the learning rate",
      epoch_, format_nats(nll.masked_select(diverged).max().item<double>())));
  if (restarts_.gt(kMaximumRestarts).all().item<bool>()) {
    throw NumericalError(fmt::format(
        "training diverged {} times, last at epoch {}; try a smaller --learning-rate "
        "(it was {})",
        kMaximumRestarts + 1, epoch_, options_.learning_rate));
  }
}

at::Tensor Trainer::typical_parameters() const {
  const auto parameters = dependence_.from_unconstrained(unconstrained_);
  if (parameters.size(1) == 0) return at::zeros_like(initial_nll_);
  return data_.typical_weights.defined() ? parameters.matmul(data_.typical_weights)
                                         : parameters.mean(1, true);
}

void Trainer::add_to_history(const at::Tensor& train_nll, const at::Tensor& nll,
                             const at::Tensor& rate) {
  const auto rows =
      at::cat({train_nll, nll, rate.to(at::kDouble), typical_parameters()}, 1)
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

void Trainer::restore_best() {
  const c10::NoGradGuard no_grad;
  flow_.values().copy_(best_values_);
}

double Trainer::best_valid_nll(std::int64_t replica) const {
  return best_nll_[replica][0].item<double>();
}

std::int64_t Trainer::best_epoch(std::int64_t replica) const {
  return best_epoch_[replica][0].item<std::int64_t>();
}

at::Tensor Trainer::best_parameters(std::int64_t replica) const {
  return best_parameters_[replica].clone();
}

std::int64_t Trainer::skipped_steps() const {
  return skipped_.sum().item<std::int64_t>();
}

void Trainer::visit_state(
    const std::function<void(const std::string&, at::Tensor&)>& visit) {
  visit("flow.values", flow_.values());
  visit("flow.first_moment", flow_optimizer_.first_moment);
  visit("flow.infinity_norm", flow_optimizer_.infinity_norm);
  visit("flow.steps", flow_optimizer_.steps);
  visit("dependence.unconstrained", unconstrained_);
  visit("dependence.first_moment", dependence_optimizer_.first_moment);
  visit("dependence.infinity_norm", dependence_optimizer_.infinity_norm);
  visit("dependence.steps", dependence_optimizer_.steps);
  visit("rate_factor", rate_factor_);
  visit("restarts", restarts_);
  visit("skipped", skipped_);
  visit("initial_nll", initial_nll_);
  visit("best_nll", best_nll_);
  visit("best_epoch", best_epoch_);
  visit("best_values", best_values_);
  visit("best_parameters", best_parameters_);
}

NamedTensors Trainer::state() {
  NamedTensors state;
  visit_state([&](const std::string& name, at::Tensor& tensor) {
    state[name] = tensor.detach().cpu().clone();
  });
  if (memory_) state["memory"] = memory_->latents().cpu();
  auto history = at::empty(
      {static_cast<std::int64_t>(history_.size()), kHistoryColumns}, at::kDouble);
  auto* out = history.data_ptr<double>();
  for (const auto& record : history_) {
    for (const double value : {record.train_nll_nats, record.valid_nll_nats,
                               record.learning_rate, record.typical_parameter}) {
      *out++ = value;
    }
  }
  state["history"] = history;
  return state;
}

void Trainer::restore(const NamedTensors& state, const std::string& source) {
  const c10::NoGradGuard no_grad;
  visit_state([&](const std::string& name, at::Tensor& tensor) {
    tensor.copy_(
        expect_tensor(state, name, tensor.sizes(), tensor.scalar_type(), source));
  });
  if (memory_) {
    const auto& latents = memory_->latents();
    memory_->reset(
        expect_tensor(state, "memory", latents.sizes(), latents.scalar_type(), source)
            .to(latents.device()));
  }
  // One record per epoch and replica from epoch 0 on, so their number tells the epoch.
  const auto records = state.find("history");
  const std::int64_t count = records == state.end() || records->second.dim() != 2
                                 ? 0
                                 : records->second.size(0);
  const std::int64_t replicas = flow_.replicas();
  const auto history =
      expect_tensor(state, "history", {count, kHistoryColumns}, at::kDouble, source);
  if (count == 0 || count % replicas != 0 || count / replicas - 1 > options_.epochs) {
    throw InputError(
        fmt::format("{}: tensor 'history': expected {} rows for each of 1 to {} "
                    "epochs, found {} rows",
                    source, replicas, options_.epochs + 1, count));
  }
  const auto* in = history.data_ptr<double>();
  history_.clear();
  for (std::int64_t i = 0; i < count; ++i, in += kHistoryColumns) {
    history_.push_back({.epoch = i / replicas,
                        .replica = i % replicas,
                        .train_nll_nats = in[0],
                        .valid_nll_nats = in[1],
                        .learning_rate = in[2],
                        .typical_parameter = in[3]});
  }
  epoch_ = history_.back().epoch;
}

}  // namespace kinflow
