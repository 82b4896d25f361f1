// Writers of test files that can also be wrong.
#include "tests/images/image_files.h"

#include <jpeglib.h>
#include <zlib.h>

#include <cstdio>  // jpeglib.h needs it before itself
#include <cstdlib>

namespace kinflow {
namespace {

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift & 255);
  }
  return bytes;
}

std::string compressed(const std::string& bytes) {
  auto size = compressBound(bytes.size());
  std::string result(size, '\0');
  compress(reinterpret_cast<Bytef*>(result.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  result.resize(size);
  return result;
}

int samples_of_pixel(int color_type) {
  switch (color_type) {
    case 2:
      return 3;
    case 4:
      return 2;
    case 6:
      return 4;
    default:
      return 1;
  }
}

/// A pass over an image: every dx-th column from x0 of every dy-th row from y0.
struct Pass {
  std::uint32_t x0, y0, dx, dy;
};

/// The rows of a pass, each after its filter 0.
std::string rows_of(const PngFile& file, const Pass& pass) {
  std::string rows;
  if (pass.x0 >= file.width) return rows;
  const auto per_pixel = static_cast<std::uint32_t>(samples_of_pixel(file.color_type));
  for (auto y = pass.y0; y < file.height; y += pass.dy) {
    rows += '\0';
    unsigned held = 0;
    int bits = 0;
    for (auto x = pass.x0; x < file.width; x += pass.dx) {
      for (std::uint32_t s = 0; s < per_pixel; ++s) {
        const auto sample = file.samples[(y * file.width + x) * per_pixel + s];
        held = held << file.bit_depth | static_cast<unsigned>(sample);
        bits += file.bit_depth;
        for (; bits >= 8; bits -= 8)
          rows += static_cast<char>(held >> (bits - 8) & 255);
      }
    }
    if (bits > 0) rows += static_cast<char>(held << (8 - bits) & 255);
  }
  return rows;
}

/// First all coefficients without their last bit, then the last bits.
std::vector<jpeg_scan_info> scans_of_each_coefficient() {
  std::vector<jpeg_scan_info> scans = {{1, {0}, 0, 0, 0, 0}};
  for (const bool refines : {false, true}) {
    for (int k = 1; k < DCTSIZE2; ++k) {
      scans.push_back({1, {0}, k, k, refines ? 1 : 0, refines ? 0 : 1});
    }
  }
  return scans;
}

}  // namespace

std::string png_chunk(const std::string& type, const std::string& data) {
  const auto body = type + data;
  const auto check = crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                           static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(static_cast<std::uint32_t>(check));
}

std::string png_file(const PngFile& file) {
  std::string header = big_endian(file.width) + big_endian(file.height);
  for (const int part :
       {file.bit_depth, file.color_type, 0, 0, file.interlaced ? 1 : 0}) {
    header += static_cast<char>(part);
  }
  std::string rows;
  if (!file.samples.empty() && !file.interlaced) rows = rows_of(file, {0, 0, 1, 1});
  if (!file.samples.empty() && file.interlaced) {
    for (const auto& pass :
         {Pass{0, 0, 8, 8}, Pass{4, 0, 8, 8}, Pass{0, 4, 4, 8}, Pass{2, 0, 4, 4},
          Pass{0, 2, 2, 4}, Pass{1, 0, 2, 2}, Pass{0, 1, 1, 2}}) {
      rows += rows_of(file, pass);
    }
  }
  std::string bytes = "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header);
  if (!file.palette.empty()) bytes += png_chunk("PLTE", file.palette);
  if (!file.transparency.empty()) bytes += png_chunk("tRNS", file.transparency);
  return bytes + file.chunks_before_data + png_chunk("IDAT", compressed(rows)) +
         png_chunk("IEND", "");
}

std::string jpeg_file(JpegKind kind, int width, int height,
                      const std::vector<std::uint8_t>& samples, int quality) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  const bool is_grey =
      kind == JpegKind::grey || kind == JpegKind::scan_of_each_coefficient;
  jpeg.input_components = is_grey ? 1 : kind == JpegKind::cmyk ? 4 : 3;
  jpeg.in_color_space = is_grey                  ? JCS_GRAYSCALE
                        : kind == JpegKind::cmyk ? JCS_CMYK
                                                 : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  if (kind == JpegKind::progressive_rgb) jpeg_simple_progression(&jpeg);
  const auto scans = scans_of_each_coefficient();
  if (kind == JpegKind::scan_of_each_coefficient) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&jpeg, TRUE);
  const auto row_bytes = static_cast<std::size_t>(width * jpeg.input_components);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(&samples[jpeg.next_scanline * row_bytes]);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(buffer), size);
  std::free(buffer);
  return bytes;
}

}  // namespace kinflow
