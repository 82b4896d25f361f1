// Correlations of blocks by an effect of the block and one of the column.

#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/steady_math.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow {
BlockAndLatentEffects::BlockAndLatentEffects(const Array& block_of_row,
                                             std::int64_t latents)
    : BlockAndLatentEffects(std::make_shared<const Blocks>(block_of_row), latents) {}

BlockAndLatentEffects::BlockAndLatentEffects(std::shared_ptr<const Blocks> blocks,
                                             std::int64_t latents)
    : FoldedLatents(blocks, latents), blocks_(std::move(blocks)) {}

std::int64_t BlockAndLatentEffects::parameter_count() const {
  // Without repeats nothing is to be learned.
  return block_effects() == 0 ? 0 : block_effects() + distinct_latents();
}

Array BlockAndLatentEffects::inner_parameters(const Array& parameters) const {
  const Array effects = checked_parameters(parameters);
  const std::int64_t m = block_effects(), p = distinct_latents();
  if (m == 0) return nd::empty({effects.size(0) * p, 0}, effects.options());
  return blocks_->from_unconstrained(
      (effects.narrow(1, 0, m).unsqueeze(1) + effects.narrow(1, m, p).unsqueeze(2))
          .reshape({-1, m}));
}

Array BlockAndLatentEffects::interpreted(const Array& parameters) const {
  return inner_parameters(parameters)
      .view({parameters.size(0), distinct_latents() * block_effects()});
}

Array BlockAndLatentEffects::own_gradient(const Array& parameters,
                                          const Array& inner_gradient) const {
  if (parameter_count() == 0) return nd::empty_like(parameters);
  const Array logits =
      blocks_->unconstrained_gradient(inner_parameters(parameters), inner_gradient)
          .view({parameters.size(0), distinct_latents(), block_effects()});
  return nd::cat({logits.sum(1), steady_sum(logits)}, 1);
}

Array BlockAndLatentEffects::to_unconstrained(const Array& parameters) const {
  return checked_parameters(parameters).clone();
}

Array BlockAndLatentEffects::from_unconstrained(const Array& unconstrained) const {
  return checked_parameters(unconstrained).clone();
}

Array BlockAndLatentEffects::unconstrained_gradient(const Array& /*parameters*/,
                                                    const Array& gradient) const {
  return gradient;
}

Array BlockAndLatentEffects::unconstrained_prior_gradient(
    const Array& parameters) const {
  const Array effects = checked_parameters(parameters);
  if (parameter_count() == 0) return effects;
  const std::int64_t m = block_effects(), p = distinct_latents();
  const Array typical = blocks_->from_unconstrained(effects.narrow(1, m, p));
  return nd::cat({kBlockEffectPrecision * effects.narrow(1, 0, m), 2 * typical - 1}, 1);
}

Array BlockAndLatentEffects::prior_objective(const Array& parameters) const {
  const Array effects = checked_parameters(parameters);
  if (parameter_count() == 0) return nd::zeros({effects.size(0)}, effects.options());
  const std::int64_t m = block_effects(), p = distinct_latents();
  const Array typical = blocks_->from_unconstrained(effects.narrow(1, m, p));
  return 0.5 * kBlockEffectPrecision * effects.narrow(1, 0, m).square().sum(1) -
         (typical.log() + nd::log1p(-typical)).sum(1);
}

Array BlockAndLatentEffects::default_parameters() const {
  return nd::zeros({parameter_count()}, nd::kDouble);
}

}  // namespace kinflow
