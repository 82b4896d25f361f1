// Scaling with whole numbers, so that every machine gives the same pixels.
#include "kinflow/images/prepare_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// The pixels of one axis that a new pixel is made of.
struct Taps {
  std::size_t first = 0;
  std::vector<std::uint64_t> weights;
};

/// How an axis is scaled: a new pixel is the weighted sum over its taps, divided by
/// `total`, the sum of the weights.
struct AxisScale {
  std::vector<Taps> taps;
  std::uint64_t total = 1;
};

/// In units of 1 / `to` of an old pixel, old pixel j covers [j to, (j + 1) to) and new
/// pixel i covers [i from, (i + 1) from); a weight is what they have in common.
AxisScale shrink(std::uint64_t from, std::uint64_t to) {
  AxisScale scale{.taps = {}, .total = from};
  for (std::uint64_t i = 0; i < to; ++i) {
    const std::uint64_t begin = i * from, end = begin + from;
    Taps taps{.first = begin / to, .weights = {}};
    for (std::uint64_t j = taps.first; j * to < end; ++j) {
      taps.weights.push_back(std::min(end, (j + 1) * to) - std::max(begin, j * to));
    }
    scale.taps.push_back(std::move(taps));
  }
  return scale;
}

/// The centre of new pixel i lies ((2 i + 1) from - to) / (2 to) behind that of the
/// first old one; beyond the outermost centres the outermost pixels go on.
AxisScale grow(std::uint64_t from, std::uint64_t to) {
  AxisScale scale{.taps = {}, .total = 2 * to};
  for (std::uint64_t i = 0; i < to; ++i) {
    const std::uint64_t reach = (2 * i + 1) * from;
    const std::uint64_t place = std::min(reach > to ? reach - to : 0,  // from 0
                                         (from - 1) * scale.total);    // to the last
    const std::uint64_t beyond = place % scale.total;
    Taps taps{.first = place / scale.total, .weights = {scale.total - beyond}};
    if (beyond > 0) taps.weights.push_back(beyond);
    scale.taps.push_back(std::move(taps));
  }
  return scale;
}

AxisScale scale_of(std::int64_t from, std::int64_t to) {
  const auto before = static_cast<std::uint64_t>(from);
  const auto after = static_cast<std::uint64_t>(to);
  return after < before ? shrink(before, after) : grow(before, after);
}

/// The part of an image around its centre; an odd pixel is cut off on the right and at
/// the bottom.
Image crop_centre(const Image& image, std::int64_t width, std::int64_t height) {
  auto part = blank_image(width, height, image.channels);
  const auto left = (image.width - width) / 2, top = (image.height - height) / 2;
  for (std::int64_t y = 0; y < height; ++y) {
    const auto from = ((top + y) * image.width + left) * image.channels;
    std::copy_n(image.pixels.begin() + from, width * image.channels,
                part.pixels.begin() + y * width * image.channels);
  }
  return part;
}

/// The largest part with the ratio of sides width : height.
Image crop_to_ratio(Image image, std::int64_t width, std::int64_t height) {
  const auto part = [](std::int64_t side, std::int64_t share, std::int64_t whole) {
    return std::max<std::int64_t>(1, (2 * side * share + whole) / (2 * whole));
  };
  const bool is_too_wide = image.width * height > image.height * width;
  const auto wanted_width =
      is_too_wide ? part(image.height, width, height) : image.width;
  const auto wanted_height =
      is_too_wide ? image.height : part(image.width, height, width);
  if (wanted_width >= image.width && wanted_height >= image.height) return image;
  return crop_centre(image, wanted_width, wanted_height);
}

Image to_grey(const Image& image) {
  auto grey = blank_image(image.width, image.height, 1);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    const std::uint8_t* rgb = &image.pixels[3 * i];
    grey.pixels[i] = static_cast<std::uint8_t>(
        (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  return grey;
}

Image to_rgb(const Image& image) {
  auto rgb = blank_image(image.width, image.height, 3);
  for (std::size_t i = 0; i < rgb.pixels.size(); ++i) {
    rgb.pixels[i] = image.pixels[i / 3];
  }
  return rgb;
}

}  // namespace

const std::vector<std::pair<std::string, ImageColors>>& image_colors_names() {
  static const std::vector<std::pair<std::string, ImageColors>> names = {
      {"stored", ImageColors::stored},
      {"grey", ImageColors::grey},
      {"rgb", ImageColors::rgb}};
  return names;
}

Image resize_image(const Image& image, std::int64_t width, std::int64_t height) {
  const auto across = scale_of(image.width, width);
  const auto down = scale_of(image.height, height);
  const auto channels = static_cast<std::size_t>(image.channels);
  const auto old_row = static_cast<std::size_t>(image.width) * channels;
  const auto new_row = static_cast<std::size_t>(width) * channels;

  // Rows scaled across, times across.total.
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(image.height) * new_row);
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y) {
    for (std::size_t x = 0; x < new_row; ++x) {
      const auto& taps = across.taps[x / channels];
      const std::uint8_t* from =
          &image.pixels[y * old_row + taps.first * channels + x % channels];
      std::uint64_t sum = 0;
      for (const auto weight : taps.weights) {
        sum += weight * *from;
        from += channels;
      }
      rows[y * new_row + x] = static_cast<std::uint32_t>(sum);
    }
  }

  auto result = blank_image(width, height, image.channels);
  const std::uint64_t total = across.total * down.total;
  std::vector<std::uint64_t> sums(new_row);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    std::fill(sums.begin(), sums.end(), total / 2);
    const auto& taps = down.taps[y];
    for (std::size_t i = 0; i < taps.weights.size(); ++i) {
      const std::uint32_t* row = &rows[(taps.first + i) * new_row];
      for (std::size_t x = 0; x < new_row; ++x) sums[x] += taps.weights[i] * row[x];
    }
    for (std::size_t x = 0; x < new_row; ++x) {
      result.pixels[y * new_row + x] = static_cast<std::uint8_t>(sums[x] / total);
    }
  }
  return result;
}

Image prepare_image(Image image, const PrepareOptions& options,
                    const std::string& source) {
  if (options.crop > 0) {
    if (options.crop > std::min(image.width, image.height)) {
      throw InputError(
          fmt::format("{}: expected at least {} x {} pixels to crop, found {} x {}",
                      source, options.crop, options.crop, image.width, image.height));
    }
    image = crop_centre(image, options.crop, options.crop);
  }
  if (options.width > 0 &&
      (image.width != options.width || image.height != options.height)) {
    image = crop_to_ratio(std::move(image), options.width, options.height);
    image = resize_image(image, options.width, options.height);
  }
  if (options.colors == ImageColors::grey && image.channels == 3) {
    image = to_grey(image);
  }
  if (options.colors == ImageColors::rgb && image.channels == 1) image = to_rgb(image);
  if (options.bits < 8) {
    for (auto& value : image.pixels) {
      value = static_cast<std::uint8_t>(value >> (8 - options.bits));
    }
  }
  return image;
}

}  // namespace kinflow
