// Architecture of a Glow flow of images, as a user chooses it, and the shapes that
// follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinflow {

/// Architecture of a Glow flow. An image of C channels is squeezed to 4 C channels of
/// half the size; then come scales of steps. A step mixes the channels by a learned
/// matrix and shifts and scales the second half of them by what a network makes of the
/// first half. Between two scales the image is squeezed again and a part of its
/// channels goes to the latents as it is.
struct GlowOptions {
  std::int64_t channels = 3;
  std::int64_t height = 32, width = 32;  ///< multiples of 2^scales
  std::int64_t scales = 2;
  std::int64_t steps = 12;  ///< of each scale
  /// Quarters of the channels that go on after the squeeze between two scales, 1 or 2.
  std::int64_t kept_quarters = 2;
  bool activation_norm = true;  ///< scale and shift of each channel before each step
  // The networks: a layer that is `dense_channels` wide, then `dense_layers` of which
  // each adds `dense_growth` channels to what all later ones see.
  std::int64_t dense_channels = 64;
  std::int64_t dense_layers = 10;
  std::int64_t dense_growth = 64;

  bool operator==(const GlowOptions&) const = default;
};

enum class GlowPreset {
  paper,  ///< the network of the paper's authors, 89,888,928 parameters at 3 x 32 x 32
  light   ///< two wide layers in each network: a better likelihood in the same time
};
/// The preset for images of a shape.
GlowOptions glow_preset(GlowPreset preset, std::int64_t channels, std::int64_t height,
                        std::int64_t width);

/// The image that the steps of a scale see.
struct GlowScale {
  std::int64_t channels, height, width;
  /// Channels that went to the latents just before the scale; 0 in the first.
  std::int64_t factored;
};
/// InputError, with what is possible, where no flow has these options.
std::vector<GlowScale> glow_scales(const GlowOptions& options);

/// Images that are mapped at once where the number is free: few enough for intermediate
/// results to stay small.
std::int64_t images_at_once(const GlowOptions& options);

/// Numbers of an image, C x H x W.
std::int64_t dimension(const GlowOptions& options);

}  // namespace kinflow
