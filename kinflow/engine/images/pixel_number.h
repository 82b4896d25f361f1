// Dequantisation of one pixel's number, the same on a CPU and on a GPU.
#pragma once

#include <cstdint>

#include "kinflow/core/counter_random.h"
#include "kinflow/core/everywhere.h"

namespace kinflow {

/// Images as whole numbers, and the noise that makes them continuous.
struct PixelSource {
  const std::uint8_t* pixels;
  std::int64_t numbers;  ///< in an image
  std::int64_t width;
  float scale;  ///< of a number
  std::uint64_t seed;
  bool mirrors;  ///< half of the images
};

KINFLOW_EVERYWHERE inline bool is_mirrored(const PixelSource& from, std::uint64_t round,
                                           std::int64_t row) {
  return from.mirrors &&
         counter_uniform(~from.seed, round, static_cast<std::uint64_t>(row)) < 0.5F;
}

/// Number `i` of image `row`.
KINFLOW_EVERYWHERE inline float dequantized(const PixelSource& from,
                                            std::uint64_t round, std::int64_t row,
                                            std::int64_t i, bool mirrored) {
  const std::int64_t first = row * from.numbers, x = i % from.width;
  const std::int64_t seen = mirrored ? i - x + from.width - 1 - x : i;
  const float noise =
      counter_uniform(from.seed, round, static_cast<std::uint64_t>(first + i));
  return (static_cast<float>(from.pixels[first + seen]) + noise) * from.scale - 0.5F;
}

}  // namespace kinflow
