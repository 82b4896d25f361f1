// The two decoders behind decode_image(), for bytes that start as their format does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kinflow/images/image.h"

namespace kinflow {

Image decode_png(std::string_view bytes, const std::string& source);
Image decode_jpeg(std::string_view bytes, const std::string& source);

/// InputError where a file says that it has no or too many pixels.
void check_image_size(std::uint64_t width, std::uint64_t height,
                      const std::string& source);

}  // namespace kinflow
