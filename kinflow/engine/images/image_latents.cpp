// Groups of latents by the shapes of a flow.
#include "kinflow/engine/images/image_latents.h"

#include "kinflow/array/array.h"

namespace kinflow {

std::vector<LatentScale> latent_scales(const GlowOptions& flow) {
  // Between two scales the images are squeezed before channels leave.
  const auto shapes = glow_scales(flow);
  std::vector<LatentScale> scales;
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    scales.push_back({.scale = static_cast<std::int64_t>(i),
                      .positions = shapes[i].height * shapes[i].width,
                      .groups = shapes[i].factored});
  }
  const auto& last = shapes.back();
  scales.push_back({.scale = static_cast<std::int64_t>(shapes.size()),
                    .positions = last.height * last.width,
                    .groups = last.channels});
  return scales;
}

LatentGroups latent_groups(const GlowOptions& flow) {
  LatentGroups groups;
  for (const auto& scale : latent_scales(flow)) {
    groups.parts.push_back({.positions = scale.positions, .groups = scale.groups});
  }
  return groups;
}

std::unique_ptr<Dependence> make_image_law(const Array& person,
                                           BlockCorrelation correlation,
                                           const GlowOptions& flow) {
  if (correlation == BlockCorrelation::per_latent) {
    return std::make_unique<GroupedLatents>(person, latent_groups(flow));
  }
  return std::make_unique<Blocks>(person, BlocksOptions{correlation});
}

}  // namespace kinflow
