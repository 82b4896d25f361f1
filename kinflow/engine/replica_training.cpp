// The steps of one replica on plain arrays, and the sharing of replicas among cores.
#include "kinflow/engine/replica_training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/core/workers.h"
#include "kinflow/dependence/block_replica.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/per_latent.h"
#include "kinflow/engine/cuda/cuda_backend.h"
#include "kinflow/flow/cpu/fused_flow.h"

namespace kinflow {
namespace {

// Rows of one replica's matrix in an array [R, ...].
template <typename Number>
Number* of_replica(const Array& tensor, std::int64_t replica) {
  return tensor.data_ptr<Number>() + replica * (tensor.numel() / tensor.size(0));
}

// All that one core needs for the steps of a replica.
template <typename Real>
class Worker {
 public:
  Worker(const FusedFlow<Real>& flow, const BlockArrays* blocks, const Array& data,
         const Array& context, const Real* decays)
      : batch_(flow), data_(data), decays_(decays) {
    rows_ = {.data = data.data_ptr<Real>(),
             .context = context.defined() ? context.data_ptr<Real>() : nullptr};
    gradient_.resize(static_cast<std::size_t>(flow.plan().parameters));
    if (blocks == nullptr) return;
    arrays_ = blocks;
    blocks_.emplace(*blocks, flow.plan().dimension);
    const auto k = static_cast<std::size_t>(blocks->parameters);
    parameters_.resize(k);
    parameter_gradient_.resize(k);
    no_decay_.resize(k);
  }

  // Makes room for the batches of an epoch, so that they allocate nothing.
  void prepare(const EpochPlan& plan, std::int64_t threads) {
    std::int64_t largest = 0;
    for (std::size_t b = 0; b + 1 < plan.bounds.size(); ++b) {
      largest = std::max(largest, plan.bounds[b + 1] - plan.bounds[b]);
    }
    batch_.reserve(largest, threads);
    const auto numbers = static_cast<std::size_t>(largest * data_.size(1));
    if (latents_.size() >= numbers) return;
    latents_.resize(numbers);
    sound_latents_.resize(numbers);
    slopes_.resize(numbers);
    log_abs_det_.resize(static_cast<std::size_t>(largest));
  }

  // One epoch of one replica, after prepare(); gives its NLL as
  // ReplicaTraining::run_epoch does.
  double train(TrainingState& state, std::int64_t replica, const EpochPlan& plan,
               const std::vector<std::int64_t>& order, const TrainOptions& options,
               const EstimatorChoice& choice, const Array& memory, Workers& workers) {
    const std::int64_t n = data_.size(0);
    values_ = of_replica<Real>(state.flow.values(), replica);
    Real* remembered =
        choice.needs_memory ? of_replica<Real>(memory, replica) : nullptr;
    if (remembered != nullptr) blocks_->reset(remembered);
    take_parameters(state, replica);
    double nll = 0, log_det = 0;
    for (std::int64_t b = 0; b < plan.batches(); ++b) {
      if (blocks_ && b % kLogDetInterval == 0) log_det = blocks_->log_det();
      const auto begin = plan.bounds[static_cast<std::size_t>(b)];
      rows_.rows = order.data() + begin;
      rows_.count = plan.bounds[static_cast<std::size_t>(b) + 1] - begin;
      const double rate = plan.rates[static_cast<std::size_t>(replica)] *
                          plan.rate_factors[static_cast<std::size_t>(b)];
      nll +=
          static_cast<double>(rows_.count) / static_cast<double>(n) *
          (half_quadratic_less_log_abs_det(choice, remembered, workers) +
           log_det * 0.5 * static_cast<double>(data_.size(1)) / static_cast<double>(n));
      const bool is_sound = step_flow(state, replica, rate, options, workers);
      if (is_sound && choice.moves_parameters) {
        step_parameters(state, replica, rate, options, remembered != nullptr);
      }
    }
    return nll;
  }

 private:
  BatchRows<Real> batch_rows() const {
    return {rows_.rows, rows_.count, sound_latents_.data()};
  }

  void take_parameters(const TrainingState& state, std::int64_t replica) {
    if (!blocks_) return;
    const double* unconstrained = of_replica<double>(state.unconstrained, replica);
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      parameters_[k] = arrays_->are_effects
                           ? unconstrained[k]
                           : share_from_unconstrained(unconstrained[k]);
    }
    blocks_->set_parameters(parameters_.data());
  }

  // Latents of the batch, the estimated rows of C^-1 U, and the batch's mean of
  // 1/2 u . (C^-1 U) - log_abs_det.
  double half_quadratic_less_log_abs_det(const EstimatorChoice& choice,
                                         Real* remembered, Workers& workers) {
    batch_.to_latent(values_, rows_, latents_.data(), log_abs_det_.data(), workers);
    const auto numbers = static_cast<std::size_t>(rows_.count * data_.size(1));
    for (std::size_t i = 0; i < numbers; ++i) {
      sound_latents_[i] = std::isfinite(latents_[i]) ? latents_[i] : Real(0);
    }
    if (!blocks_) {
      std::copy_n(sound_latents_.data(), numbers, slopes_.data());
    } else {
      if (remembered != nullptr) blocks_->update(batch_rows(), remembered);
      blocks_->precision_rows(batch_rows(), choice.memory_share, slopes_.data());
    }
    double total = 0;
    for (std::size_t i = 0; i < numbers; ++i) {
      total +=
          static_cast<double>(latents_[i] - Real(0.5) * sound_latents_[i]) * slopes_[i];
    }
    for (std::int64_t i = 0; i < rows_.count; ++i) {
      total -= log_abs_det_[static_cast<std::size_t>(i)];
    }
    return total / static_cast<double>(rows_.count);
  }

  // False where the gradient is not finite: then nothing is changed.
  bool step_flow(TrainingState& state, std::int64_t replica, double rate,
                 const TrainOptions& options, Workers& workers) {
    const Real per_row = Real(1) / static_cast<Real>(rows_.count);
    const auto numbers = static_cast<std::size_t>(rows_.count * data_.size(1));
    for (std::size_t i = 0; i < numbers; ++i) slopes_[i] *= per_row;
    batch_.gradient(values_, slopes_.data(), -per_row, gradient_.data(), workers);
    if (!all_finite(gradient_.data(), static_cast<std::int64_t>(gradient_.size()))) {
      ++*of_replica<std::int64_t>(state.skipped, replica);
      return false;
    }
    auto& optimizer = state.flow_optimizer;
    const auto steps = ++*of_replica<std::int64_t>(optimizer.steps, replica);
    adamax_step<Real>(
        {.values = values_,
         .first_moment = of_replica<Real>(optimizer.first_moment, replica),
         .infinity_norm = of_replica<Real>(optimizer.infinity_norm, replica),
         .gradient = gradient_.data(),
         .decays = decays_,
         .count = static_cast<std::int64_t>(gradient_.size()),
         .rate = static_cast<Real>(rate / Adamax::correction(steps)),
         .weight_decay = static_cast<Real>(options.weight_decay)});
    return true;
  }

  void step_parameters(TrainingState& state, std::int64_t replica, double rate,
                       const TrainOptions& options, bool has_memory) {
    if (has_memory) {
      blocks_->gradient(parameter_gradient_.data());
    } else {
      blocks_->pairs_gradient(batch_rows(), parameter_gradient_.data());
    }
    const double per_row = 1 / static_cast<double>(data_.size(0));
    bool is_sound = true;
    for (std::size_t k = 0; k < parameters_.size(); ++k) {
      auto& slope = parameter_gradient_[k];
      slope = unconstrained_slope(static_cast<std::int64_t>(k), slope, options.prior) *
              per_row;
      is_sound = is_sound && std::isfinite(slope);
    }
    if (!is_sound) return;
    auto& optimizer = state.dependence_optimizer;
    const auto steps = ++*of_replica<std::int64_t>(optimizer.steps, replica);
    adamax_step<double>(
        {.values = of_replica<double>(state.unconstrained, replica),
         .first_moment = of_replica<double>(optimizer.first_moment, replica),
         .infinity_norm = of_replica<double>(optimizer.infinity_norm, replica),
         .gradient = parameter_gradient_.data(),
         .decays = no_decay_.data(),
         .count = static_cast<std::int64_t>(parameters_.size()),
         .rate = rate * options.dependence_rate / Adamax::correction(steps),
         .weight_decay = 0});
    take_parameters(state, replica);
  }

  // From the slope in a parameter, with that of the prior.
  double unconstrained_slope(std::int64_t k, double slope, double prior) const {
    const double value = parameters_[static_cast<std::size_t>(k)];
    if (!arrays_->are_effects) {
      return slope * value * (1 - value) + prior * (2 * value - 1);
    }
    if (k < arrays_->latent_effects()) {
      return slope + prior * BlockAndLatentEffects::kBlockEffectPrecision * value;
    }
    return slope + prior * (2 * share_from_unconstrained(value) - 1);
  }

  FusedBatch<Real> batch_;
  Array data_;
  const Real* decays_;
  const BlockArrays* arrays_ = nullptr;
  RowSet<Real> rows_;
  Real* values_ = nullptr;
  std::vector<Real> latents_, sound_latents_, slopes_, log_abs_det_, gradient_;
  std::optional<BlockReplica> blocks_;
  std::vector<double> parameters_, parameter_gradient_, no_decay_;
};

template <typename Real>
class CpuTraining final : public ReplicaTraining {
 public:
  CpuTraining(TrainingState& state, const Dependence& dependence, const Array& data,
              const Array& context, const std::vector<TrainOptions>& options)
      : state_(state),
        flow_(make_plan(state.flow.options())),
        data_(data.contiguous()),
        context_(context.defined() ? context.contiguous() : context),
        options_(options) {
    if (blocks_of(dependence) != nullptr) blocks_.emplace(dependence);
    for (const auto& replica : options) {
      choices_.push_back(estimator_choice(replica, dependence));
    }
  }

  Array run_epoch(const EpochPlan& plan) override {
    auto& workers = shared_workers();
    const auto* decays = state_.flow.decay_mask().template data_ptr<Real>();
    while (static_cast<std::int64_t>(workers_.size()) < workers.threads()) {
      workers_.push_back(std::make_unique<Worker<Real>>(
          flow_, blocks_ ? &*blocks_ : nullptr, data_, context_, decays));
    }
    std::vector<std::int64_t> active;
    for (std::size_t r = 0; r < plan.active.size(); ++r) {
      if (plan.active[r] != 0) active.push_back(static_cast<std::int64_t>(r));
    }
    const auto order = plan.order();
    const auto count = static_cast<std::int64_t>(active.size());
    auto nll = nd::full({static_cast<std::int64_t>(plan.active.size()), 1},
                        std::numeric_limits<double>::quiet_NaN(), nd::kDouble);
    const auto train = [&](std::int64_t i, std::int64_t thread, Workers& inner) {
      const auto r = active[static_cast<std::size_t>(i)];
      nll.template data_ptr<double>()[r] =
          workers_[static_cast<std::size_t>(thread)]->train(
              state_, r, plan, order, options_[static_cast<std::size_t>(r)],
              choices_[static_cast<std::size_t>(r)], memory_, inner);
    };
    if (fills_cores(count, workers.threads())) {
      Workers alone(1);
      // Of all threads: any of them may take a replica.
      for (const auto& worker : workers_) worker->prepare(plan, alone.threads());
      workers.run(
          count, [&](std::int64_t i, std::int64_t thread) { train(i, thread, alone); });
    } else {
      workers_.front()->prepare(plan, workers.threads());
      for (std::int64_t i = 0; i < count; ++i) train(i, 0, workers);
    }
    return nll;
  }

  void reset_memory(const Array& latents) override {
    if (std::none_of(choices_.begin(), choices_.end(),
                     [](const auto& choice) { return choice.needs_memory; })) {
      return;
    }
    memory_ = latents.detach().clone(nd::MemoryFormat::Contiguous);
  }
  const Array& memory() const override { return memory_; }

 private:
  // Whether replicas, one on each core, leave few cores idle; otherwise the rows of one
  // replica after the other are shared out, which costs some waiting.
  static bool fills_cores(std::int64_t replicas, std::int64_t threads) {
    constexpr double kWorthWhile = 0.7;
    const auto rounds = (replicas + threads - 1) / threads;
    return static_cast<double>(replicas) >=
           kWorthWhile * static_cast<double>(rounds * threads);
  }

  TrainingState& state_;
  FusedFlow<Real> flow_;
  Array data_, context_;
  std::vector<TrainOptions> options_;
  std::vector<EstimatorChoice> choices_;
  std::optional<BlockArrays> blocks_;
  Array memory_;
  std::vector<std::unique_ptr<Worker<Real>>> workers_;  // one for each thread
};

}  // namespace

EstimatorChoice estimator_choice(const TrainOptions& options,
                                 const Dependence& dependence) {
  EstimatorChoice choice;
  if (dependence.parameter_count() == 0) return choice;
  choice.moves_parameters = options.schedule == Schedule::joint;
  if (options.estimator == Estimator::memory) choice.memory_share = 1;
  if (options.estimator == Estimator::hybrid)
    choice.memory_share = options.memory_share;
  choice.needs_memory =
      choice.memory_share > 0 ||
      (options.estimator == Estimator::hybrid && choice.moves_parameters);
  return choice;
}

std::unique_ptr<ReplicaTraining> make_replica_training(
    TrainingState& state, const Dependence& dependence, const Array& data,
    const Array& context, const std::vector<TrainOptions>& options, Engine engine) {
  const auto* blocks = blocks_of(dependence);
  const bool is_independent = dynamic_cast<const Independent*>(&dependence) != nullptr;
  // The law of pooled correlations is taken anew at every step.
  const bool is_pooled =
      blocks != nullptr && blocks->options().correlation == BlockCorrelation::pooled;
  if (engine == Engine::steps || is_pooled || (blocks == nullptr && !is_independent)) {
    return nullptr;
  }
  if (!data.is_cpu()) {
    return make_cuda_training(state, dependence, blocks, data, context, options);
  }
  if (data.scalar_type() == nd::kFloat) {
    return std::make_unique<CpuTraining<float>>(state, dependence, data, context,
                                                options);
  }
  return std::make_unique<CpuTraining<double>>(state, dependence, data, context,
                                               options);
}

}  // namespace kinflow
