// A picture in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// Pixels of 8 bits, grey or RGB.
struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 1;         ///< 1: grey, 3: red, green, blue
  std::vector<std::uint8_t> pixels;  ///< [height][width][channels]

  bool operator==(const Image&) const = default;
};

/// A black image.
inline Image blank_image(std::int64_t width, std::int64_t height,
                         std::int64_t channels) {
  return {.width = width,
          .height = height,
          .channels = channels,
          .pixels = std::vector<std::uint8_t>(
              static_cast<std::size_t>(width * height * channels))};
}

}  // namespace kinflow
