// Images as PNG files.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kinflow/images/image.h"

namespace kinflow {

/// The bytes of a PNG.
/// @param channels  1: grey, 3: RGB
/// @param pixels    [height][width][channels]
std::string encode_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                       std::span<const std::uint8_t> pixels);

/// The same, grey or RGB as the image is.
std::string encode_png(const Image& image);

/// Writes a PNG, atomically. InputError where that fails.
void write_png(const std::string& path, const Image& image);

}  // namespace kinflow
