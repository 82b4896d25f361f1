// The raster: what is drawn where, text, and the way through a PNG file.
#include "kinflow/report/canvas.h"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/core/error.h"
#include "tests/core/not_finite.h"

namespace kinflow {
namespace {

constexpr Color kBlack{0, 0, 0};

// A new folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "kinflow_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

bool all_white(const Canvas& canvas) {
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      if (canvas.pixel(x, y) != kWhite) return false;
    }
  }
  return true;
}

// Sum of darkness over the picture in units of a black pixel.
double ink(const Canvas& canvas) {
  double sum = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      sum += (255 - canvas.pixel(x, y).red) / 255.0;
    }
  }
  return sum;
}

TEST(Canvas, PngFileHoldsSizeAndPixels) {
  Canvas canvas(37, 21, {1, 2, 3});
  canvas.fill({5, 4, 12, 9}, {200, 100, 50});
  canvas.line({{0, 0}, {37, 21}}, 2, {9, 99, 199});
  const Folder folder;
  const std::string path = folder.path() / "picture.png";
  canvas.save(path);

  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(bytes, canvas.png());

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()));
  ASSERT_EQ(image.width, 37u);
  ASSERT_EQ(image.height, 21u);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  for (int y = 0; y < 21; ++y) {
    for (int x = 0; x < 37; ++x) {
      const auto* p = &pixels[static_cast<std::size_t>(3 * (37 * y + x))];
      EXPECT_EQ(canvas.pixel(x, y), (Color{p[0], p[1], p[2]}));
    }
  }
}

TEST(Canvas, UnwritablePathThrowsAndLeavesNothing) {
  const Folder folder;
  const Canvas canvas(4, 4);
  EXPECT_THROW(canvas.save(folder.path() / "missing" / "picture.png"), InputError);
  const auto occupied = folder.path() / "occupied.png";
  std::filesystem::create_directory(occupied);
  EXPECT_THROW(canvas.save(occupied), InputError);
  std::filesystem::remove(occupied);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Canvas, ImpossibleSizesAreRefused) {
  EXPECT_THROW(Canvas(0, 5), InputError);
  EXPECT_THROW(Canvas(5, -1), InputError);
  EXPECT_THROW(Canvas(1000000, 5), InputError);
}

TEST(Canvas, DrawingOutsideChangesNothing) {
  Canvas canvas(20, 10);
  canvas.fill({-50, -50, -1, 100}, kBlack);
  canvas.fill({20, 0, 1e300, kInfinity}, kBlack);
  canvas.disc({-10, 5}, 8, kBlack);
  canvas.disc({kNan, 5}, 8, kBlack);
  canvas.disc({5, kInfinity}, 8, kBlack);
  canvas.line({{-1e300, -40}, {1e300, -40}}, 3, kBlack);
  canvas.line({{-1e308, 5}, {1e308, 5}}, kNan, kBlack);
  canvas.text({-500, 5}, "outside", {});
  canvas.set_pixel(-1, 0, kBlack);
  canvas.set_pixel(0, 10, kBlack);
  EXPECT_TRUE(all_white(canvas));
}

TEST(Canvas, ShapesAcrossTheBorderAreCutThere) {
  Canvas canvas(20, 10);
  canvas.fill({-5, -5, 3, 2}, kBlack);
  EXPECT_EQ(canvas.pixel(2, 1), kBlack);
  EXPECT_EQ(canvas.pixel(3, 1), kWhite);
  canvas.line({{-1e9, 7.5}, {1e9, 7.5}}, 1, kBlack);
  EXPECT_EQ(canvas.pixel(0, 7), kBlack);
  EXPECT_EQ(canvas.pixel(19, 7), kBlack);
  EXPECT_EQ(canvas.pixel(10, 9), kWhite);
}

TEST(Canvas, ClippingRectangleLimitsEveryShape) {
  Canvas canvas(20, 20);
  canvas.clip({5, 5, 10, 10});
  canvas.fill({0, 0, 20, 20}, kBlack);
  canvas.disc({7, 7}, 30, kBlack);
  canvas.set_pixel(0, 0, kBlack);
  EXPECT_DOUBLE_EQ(ink(canvas), 25);
  canvas.clip({12, 12, 12, 40});
  canvas.disc({12, 12}, 30, kBlack);
  EXPECT_DOUBLE_EQ(ink(canvas), 25);
  canvas.unclip();
  canvas.set_pixel(0, 0, kBlack);
  EXPECT_DOUBLE_EQ(ink(canvas), 26);
}

TEST(Canvas, DiscAndLineCoverTheirArea) {
  Canvas disc(40, 40);
  disc.disc({20.3, 19.6}, 12, kBlack);
  EXPECT_NEAR(ink(disc), M_PI * 144, 5);
  Canvas line(60, 60);
  line.line({{10, 10}, {50, 40}}, 4, kBlack);
  EXPECT_NEAR(ink(line), 50 * 4 + M_PI * 4, 5);
}

TEST(Canvas, AlphaMixesWithTheBackground) {
  Canvas canvas(9, 9);
  canvas.disc({4.5, 4.5}, 3, kBlack, 0.5);
  EXPECT_NEAR(canvas.pixel(4, 4).green, 128, 1);
}

TEST(Canvas, LineIsInterruptedWhereAPointIsMissing) {
  Canvas canvas(40, 10);
  canvas.line({{2.5, 5.5}, {10, 5.5}, {kNan, 5.5}, {30, 5.5}, {38, 5.5}}, 1, kBlack);
  EXPECT_EQ(canvas.pixel(5, 5), kBlack);
  EXPECT_EQ(canvas.pixel(20, 5), kWhite);
  EXPECT_EQ(canvas.pixel(35, 5), kBlack);
}

TEST(Text, WidthAddsUpAndGrowsWithSizeAndWeight) {
  EXPECT_EQ(text_width(""), 0);
  EXPECT_DOUBLE_EQ(text_width("flow"), text_width("fl") + text_width("ow"));
  EXPECT_DOUBLE_EQ(text_width("flow", {.size = 40}),
                   2 * text_width("flow", {.size = 20}));
  EXPECT_GT(text_width("flow", {.bold = true}), text_width("flow"));
  for (const char* digit : {"1", "2", "8", "\u2212"}) {
    EXPECT_EQ(text_width(digit), text_width("0"));
  }
}

TEST(Text, InkLiesWhereTheAnchorSays) {
  const auto columns = [](const TextStyle& style) {
    Canvas canvas(200, 40);
    canvas.text({100, 30}, "density", style);
    int first = 200, last = -1;
    for (int x = 0; x < 200; ++x) {
      for (int y = 0; y < 40; ++y) {
        if (canvas.pixel(x, y) == kWhite) continue;
        first = std::min(first, x);
        last = std::max(last, x);
      }
    }
    return std::pair(first, last);
  };
  EXPECT_GE(columns({.anchor = 0}).first, 99);
  EXPECT_LE(columns({.anchor = 1}).second, 101);
  const auto [first, last] = columns({.anchor = 0.5});
  EXPECT_NEAR((first + last) / 2.0, 100, 2);
}

TEST(Text, EveryPrintableCharacterHasItsOwnGlyph) {
  const Glyph& unknown = glyph(U'\u4e00');
  for (char32_t c = U'!'; c <= U'~'; ++c) {
    EXPECT_NE(&glyph(c), &unknown);
    EXPECT_FALSE(glyph(c).strokes.empty());
    for (const auto& stroke : glyph(c).strokes) {
      for (const Point p : stroke) {
        EXPECT_GE(p.x, -0.6) << static_cast<int>(c);
        EXPECT_LE(p.x, glyph(c).advance) << static_cast<int>(c);
        EXPECT_GE(p.y, -5) << static_cast<int>(c);
        EXPECT_LE(p.y, 16) << static_cast<int>(c);
      }
    }
  }
  EXPECT_NE(&glyph(U'\u03c1'), &unknown);
  EXPECT_NE(&glyph(U'\u03bb'), &unknown);
}

TEST(Text, MalformedUtf8IsReplacedByteByByte) {
  EXPECT_EQ(decode_utf8("a\u03c1\u2212"), U"a\u03c1\u2212");
  EXPECT_EQ(decode_utf8("\xff\xc3"), U"\ufffd\ufffd");
  EXPECT_EQ(decode_utf8("\xe2\x88z"), U"\ufffd\ufffdz");
}

}  // namespace
}  // namespace kinflow
