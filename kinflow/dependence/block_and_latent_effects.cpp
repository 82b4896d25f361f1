// Correlations of blocks by an effect of the block and one of the column.
#include <ATen/ATen.h>

#include <utility>

#include "kinflow/core/steady_math.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow {
BlockAndLatentEffects::BlockAndLatentEffects(const at::Tensor& block_of_row,
                                             std::int64_t latents)
    : BlockAndLatentEffects(std::make_shared<const Blocks>(block_of_row), latents) {}

BlockAndLatentEffects::BlockAndLatentEffects(std::shared_ptr<const Blocks> blocks,
                                             std::int64_t latents)
    : FoldedLatents(blocks, latents), blocks_(std::move(blocks)) {}

std::int64_t BlockAndLatentEffects::parameter_count() const {
  // Without repeats nothing is to be learned.
  return block_effects() == 0 ? 0 : block_effects() + distinct_latents();
}

at::Tensor BlockAndLatentEffects::inner_parameters(const at::Tensor& parameters) const {
  const at::Tensor effects = checked_parameters(parameters);
  const std::int64_t m = block_effects(), p = distinct_latents();
  if (m == 0) return at::empty({effects.size(0) * p, 0}, effects.options());
  return blocks_->from_unconstrained(
      (effects.narrow(1, 0, m).unsqueeze(1) + effects.narrow(1, m, p).unsqueeze(2))
          .reshape({-1, m}));
}

at::Tensor BlockAndLatentEffects::interpreted(const at::Tensor& parameters) const {
  return inner_parameters(parameters)
      .view({parameters.size(0), distinct_latents() * block_effects()});
}

at::Tensor BlockAndLatentEffects::own_gradient(const at::Tensor& parameters,
                                               const at::Tensor& inner_gradient) const {
  if (parameter_count() == 0) return at::empty_like(parameters);
  const at::Tensor logits =
      blocks_->unconstrained_gradient(inner_parameters(parameters), inner_gradient)
          .view({parameters.size(0), distinct_latents(), block_effects()});
  return at::cat({logits.sum(1), steady_sum(logits)}, 1);
}

at::Tensor BlockAndLatentEffects::to_unconstrained(const at::Tensor& parameters) const {
  return checked_parameters(parameters).clone();
}

at::Tensor BlockAndLatentEffects::from_unconstrained(
    const at::Tensor& unconstrained) const {
  return checked_parameters(unconstrained).clone();
}

at::Tensor BlockAndLatentEffects::unconstrained_gradient(
    const at::Tensor& /*parameters*/, const at::Tensor& gradient) const {
  return gradient;
}

at::Tensor BlockAndLatentEffects::unconstrained_prior_gradient(
    const at::Tensor& parameters) const {
  const at::Tensor effects = checked_parameters(parameters);
  if (parameter_count() == 0) return effects;
  const std::int64_t m = block_effects(), p = distinct_latents();
  const at::Tensor typical = blocks_->from_unconstrained(effects.narrow(1, m, p));
  return at::cat({kBlockEffectPrecision * effects.narrow(1, 0, m), 2 * typical - 1}, 1);
}

at::Tensor BlockAndLatentEffects::prior_objective(const at::Tensor& parameters) const {
  const at::Tensor effects = checked_parameters(parameters);
  if (parameter_count() == 0) return at::zeros({effects.size(0)}, effects.options());
  const std::int64_t m = block_effects(), p = distinct_latents();
  const at::Tensor typical = blocks_->from_unconstrained(effects.narrow(1, m, p));
  return 0.5 * kBlockEffectPrecision * effects.narrow(1, 0, m).square().sum(1) -
         (typical.log() + at::log1p(-typical)).sum(1);
}

at::Tensor BlockAndLatentEffects::default_parameters() const {
  return at::zeros({parameter_count()}, at::kDouble);
}

}  // namespace kinflow
