// PNG and JPEG files as images.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kinflow/images/image.h"

namespace kinflow {

/// Most pixels of a file; more is refused before memory is spent on them.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

/// Decodes a PNG or a JPEG; the first bytes tell which, not a name. Grey files become
/// images of one channel, all others RGB; fewer than 8 bits are spread over 0 to 255.
/// Transparency is dropped: what it hides is shown. Profiles, gamma and the orientation
/// that a camera notes are not applied.
///
/// InputError, one line, for other formats, empty and truncated files and damaged ones
/// (a checksum of a PNG, or data that make no sense), 16 bits a channel, animations,
/// CMYK, and more than kMostPixels.
/// @param source  stands for the file in messages
Image decode_image(std::string_view bytes, const std::string& source);

}  // namespace kinflow
