// A normalizing flow of images: squeezes, channel mixing and affine couplings.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/channel_mixing.h"
#include "kinflow/flow/glow/glow_layout.h"
#include "kinflow/flow/glow/glow_options.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// Maps images [b, C, H, W] to latents [b, C H W] and back. Images are centred numbers
/// of a size near 1: dequantised pixels divided by their number of values, less 1/2.
/// All parameters with gradients lie in one buffer, where GlowLayout says.
class GlowFlow {
 public:
  /// @param seed  of the initial weights; networks start as the identity
  GlowFlow(const GlowOptions& options, std::uint64_t seed,
           nd::ScalarType type = nd::kFloat, nd::Device device = nd::kCPU);

  const GlowOptions& options() const { return options_; }
  const GlowLayout& layout() const { return layout_; }

  /// Latents [b, p] and log-determinants [b], without gradients; GlowPass has those.
  LatentResult to_latent(const Array& images) const;
  Array from_latent(const Array& latents) const;

  /// Lets ActNorm give these images channels of mean 0 and variance 1 at the entry of
  /// every step. Does nothing without ActNorm.
  void initialize(const Array& images);

  Array& values() { return values_; }
  const Array& values() const { return values_; }  ///< [P]

  /// [p]: what is taken from the last step's result, so that latents can have mean 0; 0
  /// in a new flow. It has no gradient, since a training knows it in closed form.
  Array& latent_mean() { return latent_mean_; }
  const Array& latent_mean() const { return latent_mean_; }

  /// Numbers beside values() that are fixed when the flow is made, one array a scale.
  std::vector<Array> fixed() const;
  void set_fixed(const std::vector<Array>& fixed);
  /// Takes all numbers of a flow with the same options, on any device.
  void copy_from(const GlowFlow& other);

  const std::vector<ChannelMixing>& mixing() const { return mixing_; }
  /// Views of the channel mixing [steps, c, c] and of ActNorm [steps, 2 c] of a scale
  /// in a buffer like values(); the second undefined without ActNorm.
  Array packed_mixing(const Array& buffer, std::size_t scale) const;
  Array activation_norm(const Array& buffer, std::size_t scale) const;

 private:
  GlowOptions options_;
  GlowLayout layout_;
  Array values_, latent_mean_;
  std::vector<ChannelMixing> mixing_;  // of each scale
};

/// [b, h, w, c] -> [b, h/2, w/2, 4 c], and back.
Array squeeze_pixels(const Array& images);
Array unsqueeze_pixels(const Array& images);

}  // namespace kinflow
