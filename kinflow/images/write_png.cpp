// PNG encoding by libpng.
#include "kinflow/images/write_png.h"

#include <fmt/format.h>
#include <png.h>

#include <stdexcept>

#include "kinflow/core/atomic_file.h"

namespace kinflow {

std::string encode_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                       std::span<const std::uint8_t> pixels) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(width);
  header.height = static_cast<png_uint_32>(height);
  header.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&header, bytes.data(), &size, 0, pixels.data(), 0,
                                 nullptr)) {
    throw std::runtime_error(fmt::format("[encode_png] libpng: {}", header.message));
  }
  bytes.resize(size);
  return bytes;
}

std::string encode_png(const Image& image) {
  return encode_png(image.width, image.height, image.channels, image.pixels);
}

void write_png(const std::string& path, const Image& image) {
  write_file_atomically(path, encode_png(image));
}

}  // namespace kinflow
