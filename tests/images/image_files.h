// PNG and JPEG files of every kind, made byte by byte or by libjpeg.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/images/image.h"

namespace kinflow {

/// A PNG whose header can say anything.
struct PngFile {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int bit_depth = 8;
  int color_type = 0;  ///< 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha
  bool interlaced = false;
  std::vector<int> samples;             ///< [height][width][samples of a pixel]
  std::string palette = {};             ///< the bytes of PLTE; none: no chunk
  std::string transparency = {};        ///< the bytes of tRNS
  std::string chunks_before_data = {};  ///< whole chunks
};

std::string png_chunk(const std::string& type, const std::string& data);
std::string png_file(const PngFile& file);

enum class JpegKind {
  grey,
  rgb,
  progressive_rgb,
  cmyk,
  scan_of_each_coefficient  ///< grey, progressive, 64 scans and 63 that refine
};

/// @param samples  [height][width][channels of the kind]
std::string jpeg_file(JpegKind kind, int width, int height,
                      const std::vector<std::uint8_t>& samples, int quality = 95);

/// An image whose values are told by a place and a channel.
template <typename Value>
Image image_by(std::int64_t width, std::int64_t height, std::int64_t channels,
               const Value& value) {
  auto image = blank_image(width, height, channels);
  std::size_t at = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        image.pixels[at++] = static_cast<std::uint8_t>(value(x, y, c));
      }
    }
  }
  return image;
}

}  // namespace kinflow
