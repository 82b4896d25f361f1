// Crop, resize, colours and bits: golden pixels.
#include "kinflow/images/prepare_image.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/data/helpers.h"
#include "tests/images/image_files.h"

namespace kinflow {
namespace {

using Values = std::vector<std::uint8_t>;

Image grey(std::int64_t width, std::int64_t height, const Values& values) {
  return {.width = width, .height = height, .channels = 1, .pixels = values};
}

Image counted(std::int64_t width, std::int64_t height, std::int64_t channels = 1) {
  auto image = blank_image(width, height, channels);
  std::iota(image.pixels.begin(), image.pixels.end(), std::uint8_t{0});
  return image;
}

TEST(ResizeImage, ShrinksByAreas) {
  EXPECT_EQ(resize_image(grey(4, 2, {0, 10, 20, 40, 20, 30, 60, 81}), 2, 1).pixels,
            (Values{15, 50}));  // 60 / 4 and 201 / 4 = 50.25
  // Each new pixel covers one and a half old ones.
  EXPECT_EQ(resize_image(grey(3, 1, {0, 90, 240}), 2, 1).pixels, (Values{30, 190}));
  EXPECT_EQ(resize_image(grey(1, 3, {0, 90, 240}), 1, 2).pixels, (Values{30, 190}));
  // Halves are rounded up.
  EXPECT_EQ(resize_image(grey(2, 1, {0, 1}), 1, 1).pixels, (Values{1}));
}

TEST(ResizeImage, GrowsLinearlyBetweenPixelCentres) {
  EXPECT_EQ(resize_image(grey(2, 1, {0, 80}), 4, 1).pixels, (Values{0, 20, 60, 80}));
  EXPECT_EQ(resize_image(grey(1, 2, {0, 80}), 1, 4).pixels, (Values{0, 20, 60, 80}));
  EXPECT_EQ(resize_image(grey(1, 1, {77}), 3, 2).pixels, Values(6, 77));
  // Both axes, and one that grows while the other shrinks.
  EXPECT_EQ(resize_image(grey(2, 2, {0, 80, 160, 240}), 4, 4).pixels,
            (Values{0, 20, 60, 80, 40, 60, 100, 120, 120, 140, 180, 200, 160, 180, 220,
                    240}));
  EXPECT_EQ(resize_image(grey(2, 2, {0, 80, 160, 240}), 4, 1).pixels,
            (Values{80, 100, 140, 160}));
}

TEST(ResizeImage, ChannelsStayApart) {
  const auto image =
      image_by(6, 4, 3, [](auto x, auto y, auto c) { return 40 * c + x + y; });
  const auto small = resize_image(image, 3, 2);
  for (std::int64_t c = 0; c < 3; ++c) {
    const auto channel =
        image_by(6, 4, 1, [&](auto x, auto y, auto) { return 40 * c + x + y; });
    const auto alone = resize_image(channel, 3, 2);
    for (std::size_t i = 0; i < alone.pixels.size(); ++i) {
      EXPECT_EQ(small.pixels[3 * i + static_cast<std::size_t>(c)], alone.pixels[i]);
    }
  }
}

TEST(ResizeImage, AConstantImageStaysConstantAtEverySize) {
  for (const std::uint8_t value : {0, 1, 200, 255}) {
    for (const std::int64_t side : {1, 2, 3, 7, 12, 13, 50}) {
      const auto image = grey(13, 9, Values(13 * 9, value));
      EXPECT_EQ(resize_image(image, side, side + 1).pixels,
                Values(static_cast<std::size_t>(side * (side + 1)), value));
    }
  }
}

TEST(PrepareImage, CropsAroundTheCentre) {
  // 5 x 4: the odd column is cut off on the right.
  EXPECT_EQ(prepare_image(counted(5, 4), {.crop = 2}, "").pixels,
            (Values{6, 7, 11, 12}));
  EXPECT_EQ(prepare_image(counted(3, 3, 3), {.crop = 1}, "").pixels,
            (Values{12, 13, 14}));
  EXPECT_EQ(
      input_error_of([] { prepare_image(counted(5, 4), {.crop = 5}, "d/a.png"); }),
      "d/a.png: expected at least 5 x 5 pixels to crop, found 5 x 4");
}

TEST(PrepareImage, ResizesTheLargestPartWithTheWantedRatio) {
  // Of 8 x 2 the middle 2 x 2; of 2 x 8 the middle 2 x 2.
  EXPECT_EQ(prepare_image(counted(8, 2), {.width = 2, .height = 2}, "").pixels,
            (Values{3, 4, 11, 12}));
  EXPECT_EQ(prepare_image(counted(2, 8), {.width = 2, .height = 2}, "").pixels,
            (Values{6, 7, 8, 9}));
  // Of 8 x 4 for 4 : 1 the middle 8 x 2.
  EXPECT_EQ(prepare_image(counted(8, 4), {.width = 8, .height = 2}, "").pixels,
            (Values{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  // First the crop, then the size: the middle 2 x 2 of 4 x 4 as its mean.
  EXPECT_EQ(
      prepare_image(counted(4, 4), {.crop = 2, .width = 1, .height = 1}, "").pixels,
      (Values{8}));  // 5, 6, 9, 10: 7.5
  // One line becomes a square of its middle pixel.
  const auto line = grey(101, 1, Values(101, 9));
  EXPECT_EQ(prepare_image(line, {.width = 4, .height = 4}, "").pixels, Values(16, 9));
}

TEST(PrepareImage, GreyIsRec601AndGreyOfGreyIsItself) {
  const Image colors{.width = 4,
                     .height = 1,
                     .channels = 3,
                     .pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 200, 30}};
  EXPECT_EQ(prepare_image(colors, {.colors = ImageColors::grey}, "").pixels,
            (Values{76, 150, 29, 124}));
  Values all(256);
  std::iota(all.begin(), all.end(), std::uint8_t{0});
  const auto image = grey(256, 1, all);
  const auto rgb = prepare_image(image, {.colors = ImageColors::rgb}, "");
  EXPECT_EQ(rgb.channels, 3);
  EXPECT_EQ(rgb.pixels[3 * 77 + 2], 77);
  EXPECT_EQ(prepare_image(rgb, {.colors = ImageColors::grey}, ""), image);
  EXPECT_EQ(prepare_image(rgb, {.colors = ImageColors::rgb}, ""), rgb);
  EXPECT_EQ(prepare_image(rgb, {.colors = ImageColors::stored}, ""), rgb);
}

TEST(PrepareImage, FewerBitsAreTheHighestOnes) {
  const auto image = grey(4, 1, {0, 127, 128, 255});
  EXPECT_EQ(prepare_image(image, {.bits = 8}, "").pixels, (Values{0, 127, 128, 255}));
  EXPECT_EQ(prepare_image(image, {.bits = 5}, "").pixels, (Values{0, 15, 16, 31}));
  EXPECT_EQ(prepare_image(image, {.bits = 1}, "").pixels, (Values{0, 0, 1, 1}));
}

}  // namespace
}  // namespace kinflow
