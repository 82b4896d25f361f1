// Means of latents by the law of blocks.
#include "kinflow/train/images/latent_place.h"

#include <ATen/ATen.h>

#include "kinflow/dependence/blocks.h"

namespace kinflow {

at::Tensor most_likely_mean(const at::Tensor& latents, const at::Tensor& person,
                            const at::Tensor& correlations) {
  const auto rows = latents.to(at::kDouble);
  if (correlations.numel() == 0) return rows.mean(0);
  const Blocks law(person, {.correlation = BlockCorrelation::per_block});
  const auto weights = law.precision_times(
      correlations.unsqueeze(0), at::ones({1, rows.size(0), 1}, at::kDouble))[0];
  return (weights * rows).sum(0) / weights.sum();
}

at::Tensor image_nll_around(const at::Tensor& mean, const GlowFlow& flow,
                            const ImageRows& rows, std::uint64_t seed) {
  const auto latents = image_latents(flow, rows, seed).to(at::kDouble);
  return image_nll(flow, rows, seed) +
         0.5 * ((latents - mean).square() - latents.square()).sum(1);
}

}  // namespace kinflow
