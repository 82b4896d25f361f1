// How the latents of images depend on each other: a correlation of each person, of all,
// or of each channel of a scale of the flow.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/grouped_latents.h"
#include "kinflow/flow/glow/glow_options.h"

namespace kinflow {

/// The latents that leave a flow after one of its scales.
struct LatentScale {
  std::int64_t scale;              ///< from 1
  std::int64_t positions, groups;  ///< the groups are the channels
};
std::vector<LatentScale> latent_scales(const GlowOptions& flow);

/// All positions of a channel of a scale are one group.
LatentGroups latent_groups(const GlowOptions& flow);

/// How images of people depend: `shared`, `per_block` (for each person), or
/// `per_latent` (for each of the latent_groups()). @param person  [n] int64
std::unique_ptr<Dependence> make_image_law(const Array& person,
                                           BlockCorrelation correlation,
                                           const GlowOptions& flow);

}  // namespace kinflow
