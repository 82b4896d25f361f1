// What a checkpoint keeps of a training, and its return.
#include <fmt/format.h>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/engine/trainer.h"

namespace kinflow {

void Trainer::visit_state(
    const std::function<void(const std::string&, Array&)>& visit) {
  visit("flow.values", flow_.values());
  visit("flow.first_moment", state_.flow_optimizer.first_moment);
  visit("flow.infinity_norm", state_.flow_optimizer.infinity_norm);
  visit("flow.steps", state_.flow_optimizer.steps);
  visit("dependence.unconstrained", state_.unconstrained);
  visit("dependence.first_moment", state_.dependence_optimizer.first_moment);
  visit("dependence.infinity_norm", state_.dependence_optimizer.infinity_norm);
  visit("dependence.steps", state_.dependence_optimizer.steps);
  visit("rate_factor", rate_factor_);
  visit("restarts", restarts_);
  visit("skipped", state_.skipped);
  visit("initial_nll", initial_nll_);
  visit("best_nll", best_nll_);
  visit("best_epoch", best_epoch_);
  visit("best_values", best_values_);
  visit("best_parameters", best_parameters_);
}

const Array* Trainer::remembered_latents() const {
  const auto* latents = estimator_          ? &estimator_->latents()
                        : replica_training_ ? &replica_training_->memory()
                                            : nullptr;
  return latents != nullptr && latents->defined() ? latents : nullptr;
}

NamedTensors Trainer::state() {
  NamedTensors state;
  visit_state([&](const std::string& name, Array& tensor) {
    state[name] = tensor.detach().cpu().clone();
  });
  if (const auto* memory = remembered_latents())
    state["memory"] = memory->cpu().clone();
  auto history = nd::empty(
      {static_cast<std::int64_t>(history_.size()), kHistoryColumns}, nd::kDouble);
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
  visit_state([&](const std::string& name, Array& tensor) {
    tensor.copy_(
        expect_tensor(state, name, tensor.sizes(), tensor.scalar_type(), source));
  });
  if (const auto* memory = remembered_latents()) {
    const auto latents =
        expect_tensor(state, "memory", memory->sizes(), memory->scalar_type(), source)
            .to(memory->device());
    if (estimator_) estimator_->reset(latents);
    if (replica_training_) replica_training_->reset_memory(latents);
  }
  // One record per epoch and replica from epoch 0 on, so their number tells the epoch.
  const auto records = state.find("history");
  const std::int64_t count = records == state.end() || records->second.dim() != 2
                                 ? 0
                                 : records->second.size(0);
  const std::int64_t replicas = flow_.replicas();
  const auto history =
      expect_tensor(state, "history", {count, kHistoryColumns}, nd::kDouble, source);
  if (count == 0 || count % replicas != 0 ||
      count / replicas - 1 > shared_options().epochs) {
    throw InputError(
        fmt::format("{}: tensor 'history': expected {} rows for each of 1 to {} "
                    "epochs, found {} rows",
                    source, replicas, shared_options().epochs + 1, count));
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
