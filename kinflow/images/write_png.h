// Images as PNG files.
#pragma once

#include <string>

#include "kinflow/images/image.h"

namespace kinflow {

/// The bytes of a PNG, grey or RGB as the image is.
std::string encode_png(const Image& image);

/// Writes a PNG, atomically. InputError where that fails.
void write_png(const std::string& path, const Image& image);

}  // namespace kinflow
