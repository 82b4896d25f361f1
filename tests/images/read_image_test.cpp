// PNG and JPEG files: every kind that is read, and every kind that is refused.
#include "kinflow/images/read_image.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kinflow/images/prepare_image.h"
#include "kinflow/images/write_png.h"
#include "tests/data/helpers.h"
#include "tests/images/image_files.h"

namespace kinflow {
namespace {

std::string error_of(const std::string& bytes) {
  return input_error_of([&] { decode_image(bytes, "a.png"); });
}

Image decoded(const std::string& bytes) { return decode_image(bytes, "a.png"); }

Image as_rgb(Image image) {
  return prepare_image(std::move(image), {.colors = ImageColors::rgb}, "");
}

/// A pattern without symmetry, of 0 and 1, for odd sides.
int bit_at(std::int64_t x, std::int64_t y) { return (x * x + 3 * y + x * y) % 5 < 2; }

constexpr std::int64_t kWidth = 13, kHeight = 7;

PngFile black_and_white(int color_type, int bit_depth, bool interlaced) {
  PngFile file{.width = kWidth,
               .height = kHeight,
               .bit_depth = bit_depth,
               .color_type = color_type,
               .interlaced = interlaced,
               .samples = {}};
  const bool has_palette = color_type == 3;
  const bool has_alpha = color_type == 4 || color_type == 6;
  const int white = (1 << bit_depth) - 1;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      const int sample = has_palette ? bit_at(x, y) : white * bit_at(x, y);
      file.samples.insert(file.samples.end(),
                          color_type == 2 || color_type == 6 ? 3 : 1, sample);
      if (has_alpha) file.samples.push_back(static_cast<int>(x * y));
    }
  }
  if (has_palette) file.palette = std::string("\0\0\0\xff\xff\xff", 6);
  return file;
}

std::string ramp_png() {
  return encode_png(image_by(
      16, 16, 3, [](auto x, auto y, auto c) { return 7 * x + 5 * y + 40 * c; }));
}

std::vector<std::uint8_t> ramp(int channels) {
  return image_by(24, 16, channels,
                  [](auto x, auto y, auto c) { return 60 + 4 * x + 3 * y + 10 * c; })
      .pixels;
}

TEST(ReadImage, WhatIsWrittenAsPngReadsBack) {
  const TemporaryFolder folder;
  for (const std::int64_t channels : {1, 3}) {
    for (const auto& [width, height] : {std::pair{1, 1}, {5, 3}, {2, 9}, {64, 64}}) {
      const auto image = image_by(width, height, channels, [](auto x, auto y, auto c) {
        return 17 * x + 31 * y + 101 * c;
      });
      write_png(folder.path("a.png"), image);
      EXPECT_EQ(decoded(content_of(folder.path("a.png"))), image)
          << width << " x " << height;
    }
  }
}

TEST(ReadImage, EveryColourTypeOfAPngGivesTheSamePixels) {
  const auto expected = image_by(
      kWidth, kHeight, 3, [](auto x, auto y, auto) { return 255 * bit_at(x, y); });
  const std::vector<std::pair<int, int>> types = {{0, 1}, {0, 2}, {0, 4}, {0, 8},
                                                  {2, 8}, {3, 1}, {3, 2}, {3, 4},
                                                  {3, 8}, {4, 8}, {6, 8}};
  for (const auto& [type, depth] : types) {
    for (const bool interlaced : {false, true}) {
      const auto image = decoded(png_file(black_and_white(type, depth, interlaced)));
      EXPECT_EQ(image.channels, type == 0 || type == 4 ? 1 : 3);
      EXPECT_EQ(as_rgb(image), expected) << "type " << type << ", bits " << depth;
    }
  }
}

TEST(ReadImage, FewBitsOfGreyAreSpreadOverTheWholeRange) {
  const auto grey = [](int depth) {
    std::vector<int> samples;
    for (int i = 0; i < 1 << depth; ++i) samples.push_back(i);
    return decoded(png_file({.width = static_cast<std::uint32_t>(samples.size()),
                             .height = 1,
                             .bit_depth = depth,
                             .samples = samples}))
        .pixels;
  };
  using Pixels = std::vector<std::uint8_t>;
  EXPECT_EQ(grey(1), (Pixels{0, 255}));
  EXPECT_EQ(grey(2), (Pixels{0, 85, 170, 255}));
  EXPECT_EQ(grey(4), (Pixels{0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204,
                             221, 238, 255}));
}

TEST(ReadImage, ColoursOfAPaletteStandInTheirPlaces) {
  const auto bytes = png_file({.width = 3,
                               .height = 1,
                               .bit_depth = 2,
                               .color_type = 3,
                               .samples = {2, 0, 1},
                               .palette = "abcdefghi"});
  EXPECT_EQ(decoded(bytes).pixels,
            (std::vector<std::uint8_t>{'g', 'h', 'i', 'a', 'b', 'c', 'd', 'e', 'f'}));
}

TEST(ReadImage, TransparencyIsDropped) {
  const std::vector<std::uint8_t> rgb = {10, 20, 30, 40, 50, 60};
  EXPECT_EQ(decoded(png_file({.width = 2,
                              .height = 1,
                              .color_type = 6,
                              .samples = {10, 20, 30, 0, 40, 50, 60, 128}}))
                .pixels,
            rgb);
  EXPECT_EQ(decoded(png_file({.width = 2,
                              .height = 1,
                              .color_type = 2,
                              .samples = {10, 20, 30, 40, 50, 60},
                              .transparency = std::string("\0\x0a\0\x14\0\x1e", 6)}))
                .pixels,
            rgb);
  EXPECT_EQ(decoded(png_file({.width = 2,
                              .height = 1,
                              .color_type = 3,
                              .samples = {0, 1},
                              .palette = "\x0a\x14\x1e\x28\x32\x3c",
                              .transparency = std::string("\0\x80", 2)}))
                .pixels,
            rgb);
  EXPECT_EQ(decoded(png_file({.width = 2,
                              .height = 1,
                              .samples = {7, 9},
                              .transparency = std::string("\0\x07", 2)}))
                .pixels,
            (std::vector<std::uint8_t>{7, 9}));
}

TEST(ReadImage, JpegsAreReadUpToTheirLoss) {
  for (const auto kind : {JpegKind::grey, JpegKind::rgb, JpegKind::progressive_rgb}) {
    const int channels = kind == JpegKind::grey ? 1 : 3;
    const auto expected = ramp(channels);
    const auto image = decoded(jpeg_file(kind, 24, 16, expected));
    EXPECT_EQ(image.width, 24);
    EXPECT_EQ(image.height, 16);
    ASSERT_EQ(image.channels, channels);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(image.pixels[i], expected[i], 6) << i;
    }
  }
}

TEST(ReadImage, TheBytesTellTheFormatNotTheName) {
  const auto jpeg = jpeg_file(JpegKind::grey, 24, 16, ramp(1));
  EXPECT_EQ(decode_image(jpeg, "a.png"), decode_image(jpeg, "a.jpg"));
  EXPECT_EQ(decode_image(ramp_png(), "a.jpg"), decode_image(ramp_png(), "a.png"));
}

TEST(ReadImage, OtherFormatsAreRefusedByName) {
  const std::string expected = "a.png: expected a PNG or a JPEG image, found ";
  EXPECT_EQ(error_of(""), expected + "an empty file");
  EXPECT_EQ(error_of("GIF89a..."), expected + "a GIF");
  EXPECT_EQ(error_of("BM......"), expected + "a BMP");
  EXPECT_EQ(error_of(std::string("II*\0....", 8)), expected + "a TIFF");
  EXPECT_EQ(error_of("RIFF....WEBPVP8 "), expected + "a WebP");
  EXPECT_EQ(error_of("hello\nworld"),
            expected + "a file that starts with 'hello\\x0awo'");
}

TEST(ReadImage, EveryTruncationIsRefused) {
  for (const auto& whole : {ramp_png(), png_file(black_and_white(3, 4, true)),
                            jpeg_file(JpegKind::rgb, 24, 16, ramp(3)),
                            jpeg_file(JpegKind::progressive_rgb, 24, 16, ramp(3)),
                            jpeg_file(JpegKind::grey, 24, 16, ramp(1))}) {
    EXPECT_NO_THROW(decoded(whole));
    for (std::size_t length = 1; length < whole.size(); ++length) {
      const auto message = error_of(whole.substr(0, length));
      EXPECT_NE(message.find("truncated file"), std::string::npos)
          << length << " of " << whole.size() << " bytes: " << message;
    }
  }
}

TEST(ReadImage, DamageIsRefused) {
  auto png = ramp_png();
  png[png.size() - 20] ^= 1;  // inside the last data, which have a checksum
  EXPECT_NE(
      error_of(png).find("a.png: expected a PNG that can be read, found damage ('"),
      std::string::npos)
      << error_of(png);
  // A checksum that is right, around data that are no zlib stream.
  auto no_stream = png_file({.width = 4, .height = 4, .samples = {}});
  EXPECT_NE(error_of(no_stream).find("expected a"), std::string::npos);

  auto jpeg = jpeg_file(JpegKind::rgb, 24, 16, ramp(3));
  const auto tables = jpeg.find("\xff\xc4");
  jpeg[tables + 5] = '\xff';
  EXPECT_NE(
      error_of(jpeg).find("a.png: expected a JPEG that can be read, found damage"),
      std::string::npos)
      << error_of(jpeg);
}

TEST(ReadImage, SixteenBitsAndAnimationsAreRefused) {
  EXPECT_EQ(
      error_of(png_file({.width = 1, .height = 1, .bit_depth = 16, .samples = {9}})),
      "a.png: expected a PNG of at most 8 bits a channel, found 16");
  const auto control = png_chunk("acTL", std::string("\0\0\0\2\0\0\0\0", 8));
  PngFile file{.width = 1, .height = 1, .samples = {9}, .chunks_before_data = control};
  EXPECT_EQ(error_of(png_file(file)),
            "a.png: expected a PNG of one image, found an animated one");
  file.chunks_before_data = png_chunk("tEXt", "Title") + control;
  EXPECT_EQ(error_of(png_file(file)),
            "a.png: expected a PNG of one image, found an animated one");
  file.chunks_before_data = png_chunk("tEXt", "Title: acTL");
  EXPECT_NO_THROW(decoded(png_file(file)));
}

TEST(ReadImage, CmykIsRefused) {
  EXPECT_EQ(error_of(jpeg_file(JpegKind::cmyk, 24, 16, ramp(4))),
            "a.png: expected a grey or RGB JPEG, found CMYK");
}

TEST(ReadImage, AbsurdSizesAreRefusedBeforeMemoryIsSpent) {
  EXPECT_EQ(
      error_of(png_file({.width = 2000000000, .height = 2000000000, .samples = {}})),
      "a.png: expected 1 to 67108864 pixels, found 2000000000 x 2000000000");
  EXPECT_EQ(error_of(png_file({.width = 67108865, .height = 1, .samples = {}})),
            "a.png: expected 1 to 67108864 pixels, found 67108865 x 1");
  // Within the limit, but more than so few bytes can hold.
  EXPECT_EQ(error_of(png_file({.width = 8192, .height = 8192, .samples = {}})),
            "a.png: expected a whole PNG, found a truncated file: 65 bytes for 8192 x "
            "8192 pixels");

  const auto with_sides = [](int side) {
    auto jpeg = jpeg_file(JpegKind::rgb, 24, 16, ramp(3));
    const auto frame = jpeg.find(std::string("\xff\xc0\x00\x11\x08", 5));
    for (const std::size_t at : {frame + 5, frame + 7}) {
      jpeg[at] = static_cast<char>(side >> 8);
      jpeg[at + 1] = static_cast<char>(side & 255);
    }
    return jpeg;
  };
  EXPECT_EQ(error_of(with_sides(65000)),
            "a.png: expected 1 to 67108864 pixels, found 65000 x 65000");
  EXPECT_NE(error_of(with_sides(8192)).find(" bytes for 8192 x 8192 pixels"),
            std::string::npos);
  EXPECT_NE(error_of(with_sides(0)).find("a.png: expected"), std::string::npos);
}

TEST(ReadImage, AProgressiveFileOfManyScansIsRefused) {
  EXPECT_EQ(error_of(jpeg_file(JpegKind::scan_of_each_coefficient, 24, 16, ramp(1))),
            "a.png: expected a JPEG that can be read, found damage ('more than 100 "
            "scans')");
}

}  // namespace
}  // namespace kinflow
