// Crop, resize, colours and bits: from pictures of any kind to the pixels of a flow.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/images/image.h"

namespace kinflow {

enum class ImageColors {
  stored,  ///< as in the file
  grey,    ///< 0.299 red + 0.587 green + 0.114 blue (Rec. 601)
  rgb      ///< grey in all three channels where the file is grey
};

/// Names of the colours: "stored", "grey", "rgb".
const std::vector<std::pair<std::string, ImageColors>>& image_colors_names();

struct PrepareOptions {
  std::int64_t crop = 0;   ///< side of a square around the centre; 0: all of the image
  std::int64_t width = 0;  ///< after resizing; 0, both, for none
  std::int64_t height = 0;
  ImageColors colors = ImageColors::stored;
  std::int64_t bits = 8;  ///< 1 to 8: values become value >> (8 - bits)
};

/// Cuts the square, if one is asked for; of an odd rest more is cut off on the right
/// and at the bottom. To resize, the largest part around the centre that has the wanted
/// ratio of sides is scaled: each axis by areas where it shrinks, linearly between
/// pixel centres where it grows. Sums are exact, halves are rounded up. Then colours
/// and bits. InputError where the crop is larger than the image.
/// @param source  stands for the file in messages
Image prepare_image(Image image, const PrepareOptions& options,
                    const std::string& source);

/// The whole image scaled to another size, with sides of at most 2^23 before and after.
Image resize_image(const Image& image, std::int64_t width, std::int64_t height);

}  // namespace kinflow
