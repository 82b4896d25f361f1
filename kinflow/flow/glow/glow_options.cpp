// Presets and shapes of Glow flows.
#include "kinflow/flow/glow/glow_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

// More is a mistake: an image of 2^31 numbers would not fit into memory.
constexpr std::int64_t kLargestSide = 4096, kLargestWidth = 4096;

void expect(bool holds, const std::string& what) {
  if (!holds) throw InputError("glow: expected " + what);
}

void check(const GlowOptions& o) {
  expect(o.channels == 1 || o.channels == 3,
         fmt::format("images of 1 or 3 channels, found {}", o.channels));
  expect(o.scales >= 1 && o.scales <= 8,
         fmt::format("1 to 8 scales, found {}", o.scales));
  expect(o.steps >= 1 && o.steps <= 1000,
         fmt::format("1 to 1000 steps in a scale, found {}", o.steps));
  expect(o.kept_quarters == 1 || o.kept_quarters == 2,
         fmt::format("1 or 2 quarters of the channels to go on, found {}",
                     o.kept_quarters));
  const std::int64_t unit = std::int64_t{1} << o.scales;
  for (const auto side : {o.height, o.width}) {
    expect(side >= unit && side <= kLargestSide && side % unit == 0,
           fmt::format("sides of an image that are multiples of {} (2 to the number of "
                       "scales) and at most {}, found {} x {}",
                       unit, kLargestSide, o.height, o.width));
  }
  for (const auto size : {o.dense_channels, o.dense_growth}) {
    expect(
        size >= 8 && size % 8 == 0 && size <= kLargestWidth,
        fmt::format("network channels and growth that are multiples of 8 and at most "
                    "{}, found {} and {}",
                    kLargestWidth, o.dense_channels, o.dense_growth));
  }
  expect(o.dense_layers >= 1 && o.dense_layers <= 100,
         fmt::format("1 to 100 layers in a network, found {}", o.dense_layers));
}

}  // namespace

GlowOptions glow_preset(GlowPreset preset, std::int64_t channels, std::int64_t height,
                        std::int64_t width) {
  GlowOptions options{.channels = channels, .height = height, .width = width};
  if (preset == GlowPreset::paper) {
    options.kept_quarters = 1;
    options.activation_norm = false;
  } else {
    options.dense_channels = options.dense_growth = 96;
    options.dense_layers = 2;
  }
  return options;
}

std::vector<GlowScale> glow_scales(const GlowOptions& options) {
  check(options);
  std::vector<GlowScale> scales;
  GlowScale now{.channels = options.channels,
                .height = options.height,
                .width = options.width,
                .factored = 0};
  for (std::int64_t scale = 0; scale < options.scales; ++scale) {
    const std::int64_t squeezed = 4 * now.channels;
    const std::int64_t kept =
        scale == 0 ? squeezed : options.kept_quarters * now.channels;
    now = {.channels = kept,
           .height = now.height / 2,
           .width = now.width / 2,
           .factored = squeezed - kept};
    scales.push_back(now);
  }
  return scales;
}

std::int64_t images_at_once(const GlowOptions& options) {
  constexpr std::int64_t kPixels = 32768;
  return std::max<std::int64_t>(1, kPixels / (options.height / 2 * options.width / 2));
}

std::int64_t dimension(const GlowOptions& options) {
  return options.channels * options.height * options.width;
}

}  // namespace kinflow
