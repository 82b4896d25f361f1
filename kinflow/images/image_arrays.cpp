// Images in .npy arrays, with their ids.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "kinflow/core/error.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/table.h"
#include "kinflow/images/image_decoders.h"
#include "kinflow/images/image_sources.h"

namespace kinflow {
namespace {

/// Where the channels of an array are: images as [height][width][channels], or as
/// [channels][height][width].
struct ArrayShape {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool channels_first = false;
};

[[noreturn]] void fail_at_shape(const NpyLayout& layout, const std::string& path,
                                const std::string& why) {
  throw InputError(
      fmt::format("{}: expected images as [n, H, W], [n, 1 or 3, H, W] or [n, H, W, 1 "
                  "or 3], found the shape [{}]{}",
                  path, fmt::join(layout.shape, ", "), why));
}

ArrayShape shape_of(const NpyLayout& layout, const std::string& path) {
  const auto& shape = layout.shape;
  const auto is_channels = [](std::int64_t extent) {
    return extent == 1 || extent == 3;
  };
  if (shape.size() == 3) return {.channels = 1, .height = shape[1], .width = shape[2]};
  if (shape.size() != 4) fail_at_shape(layout, path, "");
  const bool may_be_first = is_channels(shape[1]), may_be_last = is_channels(shape[3]);
  if (may_be_first && may_be_last) {
    fail_at_shape(layout, path, ", which can be read both ways");
  }
  if (may_be_first) {
    return {.channels = shape[1],
            .height = shape[2],
            .width = shape[3],
            .channels_first = true};
  }
  if (!may_be_last) fail_at_shape(layout, path, "");
  return {.channels = shape[3], .height = shape[1], .width = shape[2]};
}

void check_type(const NpyLayout& layout, const std::string& path) {
  if (layout.dtype != "u1") {
    throw InputError(fmt::format("{}: expected an array of uint8 (u1), found {}", path,
                                 layout.dtype));
  }
  if (layout.fortran_order) {
    throw InputError(path +
                     ": expected an array in C order (numpy.ascontiguousarray), found "
                     "Fortran order");
  }
}

std::vector<std::string> ids_of_array(const std::string& path) {
  const NpyReader reader(path);
  const auto& layout = reader.layout();
  const bool is_integer = layout.dtype[0] == 'i' || layout.dtype[0] == 'u';
  if (!is_integer || layout.shape.size() != 1) {
    throw InputError(fmt::format(
        "{}: expected one integer for each image, found {} of the shape [{}]", path,
        layout.dtype, fmt::join(layout.shape, ", ")));
  }
  std::vector<std::string> ids;
  for (const double id : reader.read(0, reader.rows())) {
    ids.push_back(std::to_string(static_cast<std::int64_t>(id)));
  }
  return ids;
}

std::vector<std::string> read_ids(const ImageRequest& request) {
  if (table_format(request.ids) == TableFormat::npy) return ids_of_array(request.ids);
  return labels(read_table(request.ids), request.person_column);
}

Image unpacked(const std::string& bytes, const ArrayShape& shape) {
  auto image = blank_image(shape.width, shape.height, shape.channels);
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto area = bytes.size() / channels;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto from = shape.channels_first ? i % channels * area + i / channels : i;
    image.pixels[i] = static_cast<std::uint8_t>(bytes[from]);
  }
  return image;
}

}  // namespace

ImageSource images_of_array(const ImageRequest& request) {
  const auto& path = request.path;
  if (request.ids.empty()) {
    throw InputError(
        path +
        ": expected the ids of the people in an array or a table beside it "
        "(--ids), found none");
  }
  const auto reader = std::make_shared<const NpyReader>(path);
  check_type(reader->layout(), path);
  const auto shape = shape_of(reader->layout(), path);
  if (reader->rows() == 0) throw InputError(path + ": expected images, found none");
  check_image_size(static_cast<std::uint64_t>(shape.width),
                   static_cast<std::uint64_t>(shape.height), path);
  ImageSource source;
  source.person_of_image = read_ids(request);
  if (std::ssize(source.person_of_image) != reader->rows()) {
    throw InputError(
        fmt::format("{}: expected {} ids, one for each image of {}, found {}",
                    request.ids, reader->rows(), path, source.person_of_image.size()));
  }
  source.name = [path](std::int64_t image) {
    return fmt::format("{}: image {}", path, image + 1);
  };
  source.bytes = [reader](std::int64_t image) {
    const auto values = reader->read(image, 1);
    std::string bytes(values.size(), '\0');
    std::transform(values.begin(), values.end(), bytes.begin(), [](double value) {
      return static_cast<char>(static_cast<std::uint8_t>(value));
    });
    return bytes;
  };
  source.decode = [shape](const std::string& bytes, std::int64_t) {
    return unpacked(bytes, shape);
  };
  return source;
}

}  // namespace kinflow
