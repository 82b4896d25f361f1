// Steps of an epoch by arrays, and stages of the dependence parameters.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/engine/trainer.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

// Latents that overflowed count as 0, so that sums of latents stay sound.
Array finite(const Array& latents) { return nd::nan_to_num(latents, 0, 0, 0); }

}  // namespace

Array Trainer::all_train_latents() const {
  return finite(all_latents(flow_, data_.train, data_.train_context).latents);
}

Array Trainer::run_steps(const EpochPlan& plan) {
  epoch_io_.order.copy_(nd::tensor(plan.order()));
  epoch_io_.rates.copy_(nd::tensor(plan.rates, nd::kDouble).unsqueeze(1) *
                        nd::tensor(plan.rate_factors, nd::kDouble).view({-1, 1, 1}));
  epoch_io_.active.copy_(nd::tensor(plan.active, nd::kByte).unsqueeze(1));
  if (recorded_steps_) {
    recorded_steps_->run();
  } else {
    take_steps();
  }
  return epoch_io_.train_nll.masked_fill(epoch_io_.active.logical_not(),
                                         std::numeric_limits<double>::quiet_NaN());
}

void Trainer::take_steps() {
  const auto batches = static_cast<std::int64_t>(batch_bounds_.size()) - 1;
  const auto moves =
      dependence_.has_costly_parameters() ? std::min(batches, kCostlySteps) : batches;
  epoch_io_.train_nll.zero_();
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const auto begin = batch_bounds_[static_cast<std::size_t>(batch)];
    const auto count = batch_bounds_[static_cast<std::size_t>(batch) + 1] - begin;
    if (batch % kLogDetInterval == 0) {
      log_det_ =
          dependence_.log_det(dependence_.from_unconstrained(state_.unconstrained));
    }
    epoch_io_.train_nll +=
        step(epoch_io_.order.narrow(0, begin, count), epoch_io_.rates[batch],
             epoch_io_.active,
             (batch + 1) * moves / batches != batch * moves / batches) *
        (static_cast<double>(count) / static_cast<double>(data_.train.size(0)));
  }
}

Array Trainer::step(const Array& rows, const Array& rate, const Array& active,
                    bool moves_dependence) {
  const auto result = pass_->to_latent(rows);

  // The gradient of the quadratic form in a row is that row of C^-1 U, a constant here.
  const auto parameters = dependence_.from_unconstrained(state_.unconstrained);
  const auto latents = finite(result.latents);
  const auto precision_rows =
      estimator_->precision_rows(parameters, rows, latents).to(latents.scalar_type());
  const double per_row = 1 / static_cast<double>(rows.size(0));
  const auto gradient = pass_->gradient(precision_rows * per_row, -per_row);

  const auto is_finite = nd::isfinite(gradient.norm(2, 1, true));
  state_.skipped += is_finite.logical_not().logical_and(active);
  const auto sound = is_finite.logical_and(active);
  if (uses_kernels_) {
    state_.flow_optimizer.step_by_kernels(flow_.values(), gradient, rate,
                                          weight_decays_, sound);
  } else {
    state_.flow_optimizer.step(flow_.values(), gradient,
                               rate.to(flow_.values().scalar_type()), weight_decays_,
                               sound);
  }
  if (moves_dependence && has_moving_parameters_) {
    step_dependence(parameters, estimator_->parameter_gradient(parameters),
                    rate * dependence_rates_, sound.logical_and(moves_parameters_));
  }
  // The likelihood has half of the quadratic form.
  const auto columns = static_cast<double>(data_.train.size(1));
  const auto losses =
      ((result.latents - 0.5 * latents) * precision_rows).sum(-1) - result.log_abs_det;
  return losses.to(nd::kDouble).mean(1, true) +
         log_det_.unsqueeze(1) *
             (0.5 * columns / static_cast<double>(data_.train.size(0)));
}

void Trainer::step_dependence(const Array& parameters, const Array& gradient,
                              const Array& rate, const Array& active) {
  // A weak prior keeps the parameters of small blocks away from 0 and 1.
  const auto per_row =
      (dependence_.unconstrained_gradient(parameters, gradient) +
       priors_ * dependence_.unconstrained_prior_gradient(parameters)) /
      static_cast<double>(data_.train.size(0));
  const auto sound = nd::isfinite(per_row).all(1, true).logical_and(active);
  state_.dependence_optimizer.step(state_.unconstrained, per_row, rate, {}, sound);
}

void Trainer::parameter_stage() {
  if (dependence_.parameter_count() == 0) return;
  const auto stopped = is_stopped().cpu();
  // One search serves all replicas with the same prior.
  std::map<double, std::vector<std::int64_t>> by_prior;
  for (std::int64_t replica = 0; replica < replicas(); ++replica) {
    const auto& own = options_[static_cast<std::size_t>(replica)];
    if (own.schedule != Schedule::alternating || stopped[replica].item<bool>())
      continue;
    by_prior[own.prior].push_back(replica);
  }
  if (by_prior.empty()) return;
  const auto latents = all_train_latents();
  for (const auto& [prior, searched] : by_prior) {
    bool are_found = false;
    if (searched.size() > 1) {
      try {
        move_to_most_likely(latents, searched, prior);
        are_found = true;
      } catch (const NumericalError&) {
        // Only those whose own search fails stay.
      }
    }
    if (are_found) continue;
    for (const auto replica : searched) move_or_warn(latents, replica, prior);
  }
}

void Trainer::move_to_most_likely(const Array& latents,
                                  const std::vector<std::int64_t>& searched,
                                  double prior) {
  const auto places = nd::tensor(searched, nd::kLong).to(latents.device());
  const bool are_all = static_cast<std::int64_t>(searched.size()) == replicas();
  const auto start = dependence_.from_unconstrained(state_.unconstrained);
  const auto found =
      dependence_.most_likely(are_all ? latents : latents.index_select(0, places),
                              start.index_select(0, places), prior);
  state_.unconstrained.index_copy_(0, places, dependence_.to_unconstrained(found));
}

void Trainer::move_or_warn(const Array& latents, std::int64_t replica, double prior) {
  try {
    move_to_most_likely(latents, {replica}, prior);
  } catch (const NumericalError& error) {
    warnings_.push_back(
        fmt::format("epoch {}: the dependence parameters stay as they were: {}", epoch_,
                    error.what()));
  }
}

}  // namespace kinflow
