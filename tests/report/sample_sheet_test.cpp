// Sheets of images: every pixel in its place, labels, and input that is refused.
#include "kinflow/report/sample_sheet.h"

#include <gtest/gtest.h>

#include "kinflow/core/error.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

// Images of 2 x 3 pixels, whose values are all different up to 256.
SheetImages some_images(int channels, int count) {
  SheetImages images{.channels = channels, .height = 2, .width = 3};
  for (int i = 0; i < count * channels * 6; ++i) {
    images.values.push_back(static_cast<std::uint8_t>(i));
  }
  return images;
}

TEST(SampleSheet, EveryPixelOfAnImageIsASquareInItsPlace) {
  const SampleSheet sheet{
      .rows = sheet_rows(some_images(3, 5), 3), .enlargement = 5, .gap = 2};
  const Canvas canvas = draw_sample_sheet(sheet);
  ASSERT_EQ(canvas.width(), 2 + 3 * (3 * 5 + 2));
  ASSERT_EQ(canvas.height(), 2 + 2 * (2 * 5 + 2));
  for (int image = 0; image < 5; ++image) {
    for (int y = 0; y < 10; ++y) {
      for (int x = 0; x < 15; ++x) {
        const int value = image * 18 + y / 5 * 3 + x / 5;
        const Color expected{static_cast<std::uint8_t>(value),
                             static_cast<std::uint8_t>(value + 6),
                             static_cast<std::uint8_t>(value + 12)};
        ASSERT_EQ(canvas.pixel(2 + image % 3 * 17 + x, 2 + image / 3 * 12 + y),
                  expected)
            << image << ' ' << y << ' ' << x;
      }
    }
  }
}

TEST(SampleSheet, GapsAndThePlacesOfMissingImagesAreWhite) {
  const Canvas canvas = draw_sample_sheet(
      {.rows = sheet_rows(some_images(1, 5), 3), .enlargement = 5, .gap = 2});
  for (int x = 0; x < canvas.width(); ++x) {
    EXPECT_EQ(canvas.pixel(x, 0), kWhite);
    EXPECT_EQ(canvas.pixel(x, 12), kWhite);
    EXPECT_EQ(canvas.pixel(x, canvas.height() - 1), kWhite);
  }
  EXPECT_EQ(extent_of(canvas, kWhite, {36, 14, 53, 26}).count, 17 * 12);
}

TEST(SampleSheet, GreyImagesAreGrey) {
  const Canvas canvas = draw_sample_sheet(
      {.rows = sheet_rows(some_images(1, 1), 1), .enlargement = 1, .gap = 0});
  ASSERT_EQ(canvas.width(), 3);
  ASSERT_EQ(canvas.height(), 2);
  EXPECT_EQ(canvas.pixel(2, 1), (Color{5, 5, 5}));
}

TEST(SampleSheet, LabelsAndTitleStandBesideAndAboveTheImages) {
  SheetImages black{.channels = 1, .height = 8, .width = 8};
  black.values.assign(3 * 64, 200);
  const Color color{200, 200, 200};
  const SampleSheet plain{.rows = {{"", black}, {"", black}}};
  SampleSheet labelled = plain;
  labelled.rows[0].label = "baseline";
  labelled.rows[1].label = "adjusted, joint";
  labelled.title = "faces";
  const Canvas canvas = draw_sample_sheet(labelled);
  const Extent images = extent_of(canvas, color, whole(canvas));
  EXPECT_EQ(images.count, 6 * 64 * 16);
  EXPECT_GT(images.box.left, text_width("adjusted, joint") - 1);
  EXPECT_GT(images.box.top, labelled.text_size * 0.9);
  const Extent first = extent_of(
      canvas, kInk, {0, images.box.top, images.box.left, images.box.top + 32});
  const Extent second = extent_of(
      canvas, kInk, {0, images.box.top + 36, images.box.left, images.box.bottom});
  const Extent title =
      extent_of(canvas, kInk, {0, 0, whole(canvas).right, images.box.top - 1});
  EXPECT_GT(first.count, 20);
  EXPECT_GT(second.box.width(), 1.3 * first.box.width());
  EXPECT_LT(second.box.right, images.box.left);
  EXPECT_GT(title.count, 20);
  EXPECT_FALSE(shows(draw_sample_sheet(plain), kInk));
}

TEST(SampleSheet, ALongTitleWidensTheSheet) {
  const std::string title(60, 'm');
  const Canvas canvas =
      draw_sample_sheet({.title = title, .rows = sheet_rows(some_images(1, 1), 1)});
  EXPECT_GE(canvas.width(), text_width(title));
}

TEST(SampleSheet, RowsMayHaveDifferentNumbersOfImages) {
  const Canvas canvas = draw_sample_sheet({.rows = {{"", some_images(1, 1)},
                                                    {"", some_images(1, 0)},
                                                    {"", some_images(3, 4)}},
                                           .enlargement = 1,
                                           .gap = 1});
  EXPECT_EQ(canvas.width(), 1 + 4 * 4);
  EXPECT_EQ(canvas.height(), 1 + 3 * 3);
}

TEST(SampleSheet, InconsistentInputIsRefused) {
  const auto refused = [](auto change) {
    SampleSheet sheet{.rows = sheet_rows(some_images(3, 4), 2)};
    change(sheet);
    EXPECT_THROW(draw_sample_sheet(sheet), InputError);
  };
  refused([](auto& s) { s.rows.clear(); });
  refused([](auto& s) { s.rows = {{"label", some_images(3, 0)}}; });
  refused([](auto& s) { s.rows[1].images.values.pop_back(); });
  refused([](auto& s) { s.rows[1].images.channels = 2; });
  refused([](auto& s) { s.rows[0].images.width = 0; });
  refused([](auto& s) { s.rows[1].images.height = -2; });
  refused([](auto& s) { s.rows[1].images = {.channels = 1, .height = 3, .width = 3}; });
  refused([](auto& s) { s.enlargement = 0; });
  refused([](auto& s) { s.enlargement = 65; });
  refused([](auto& s) { s.gap = -1; });
  refused([](auto& s) { s.text_size = 0; });
  refused([](auto& s) { s.rows = sheet_rows(some_images(1, 2000), 2000); });
  EXPECT_THROW(sheet_rows(some_images(1, 2), 0), InputError);
  EXPECT_THROW(write_sample_sheet("/nonexistent/sheet.png",
                                  {.rows = sheet_rows(some_images(1, 1), 1)}),
               InputError);
}

}  // namespace
}  // namespace kinflow
