// Colours, ticks and figures, the odd inputs included.
#include "kinflow/report/figure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/report/four_panel.h"
#include "tests/core/not_finite.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

TEST(DensityColor, StartsWhiteAndDarkensInEqualSteps) {
  EXPECT_EQ(density_color(0), kWhite);
  for (int i = 1; i <= 100; ++i) {
    const double step =
        lightness(density_color((i - 1) / 100.0)) - lightness(density_color(i / 100.0));
    EXPECT_NEAR(step, 0.0075, 0.004) << i;
    EXPECT_GT(step, 0) << i;
  }
}

TEST(DensityColor, ClampsAndMarksWhatIsNotANumber) {
  EXPECT_EQ(density_color(-3), density_color(0));
  EXPECT_EQ(density_color(kInfinity), density_color(1));
  EXPECT_EQ(density_color(kNan), kMissing);
}

TEST(CategoryColor, ColorsDifferAndRepeat) {
  for (std::size_t i = 0; i < kCategoryColors; ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(category_color(i), category_color(j));
    EXPECT_EQ(category_color(i), category_color(i + kCategoryColors));
  }
}

TEST(NiceTicks, AreRoundNumbersWithEqualDecimals) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(nice_ticks({-3.5, 3.5}, 5).labels, (Labels{"-2", "0", "2"}));
  EXPECT_EQ(nice_ticks({0, 1}, 6).labels,
            (Labels{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(nice_ticks({1, 0}, 3).labels, (Labels{"0.0", "0.5", "1.0"}));
  EXPECT_EQ(nice_ticks({-30, 130}, 4).labels, (Labels{"0", "50", "100"}));
  EXPECT_EQ(nice_ticks({0, 3e6}, 4).labels, (Labels{"0", "1e6", "2e6", "3e6"}));
  EXPECT_EQ(nice_ticks({0, 2.1e-7}, 3).labels, (Labels{"0", "1e-7", "2e-7"}));
}

TEST(NiceTicks, AnyLimitsGiveFewTicksInside) {
  for (const double low : {-1e308, -1e9, -7.3, 0.0, 1e-300, 0.1, 12345.678, 1e15}) {
    for (const double width : {0.0, 1e-300, 1e-12, 0.37, 1.0, 1e9, 1e308}) {
      for (const int most : {1, 2, 5, 9}) {
        const Limits limits = usable_limits({low, low + width});
        ASSERT_LT(limits.low, limits.high);
        const Ticks ticks = nice_ticks(limits, most);
        EXPECT_LE(ticks.positions.size(), static_cast<std::size_t>(most));
        EXPECT_EQ(ticks.positions.size(), ticks.labels.size());
        const double slack = 1e-5 * (limits.high - limits.low);
        for (const double p : ticks.positions) {
          EXPECT_GE(p, limits.low - slack);
          EXPECT_LE(p, limits.high + slack);
        }
        for (const auto& label : ticks.labels) EXPECT_LT(label.size(), 20u);
      }
    }
  }
}

TEST(LimitsOf, IgnoresWhatIsNotFinite) {
  const Limits limits = limits_of({kNan, 2, -kInfinity, 4, kInfinity}, 0);
  EXPECT_EQ(limits.low, 2);
  EXPECT_EQ(limits.high, 4);
  EXPECT_EQ(limits_of({}, 0).high, 1);
  const Limits constant = limits_of({5, 5});
  EXPECT_LT(constant.low, 5);
  EXPECT_GT(constant.high, 5);
}

TEST(LargestGroups, GetColorsInTheOrderOfTheirSize) {
  const std::vector<double> x{1, 2, 3, 4, 5, 6, 7};
  const auto layers = color_largest_groups(x, x, {9, 4, 9, 4, 9, 1, 2}, 2);
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(std::get<Points>(layers[0]).x, (std::vector<double>{6, 7}));
  EXPECT_EQ(std::get<Points>(layers[1]).x, (std::vector<double>{1, 3, 5}));
  EXPECT_EQ(std::get<Points>(layers[1]).color, category_color(0));
  EXPECT_EQ(std::get<Points>(layers[2]).x, (std::vector<double>{2, 4}));
  EXPECT_EQ(color_largest_groups(x, x, {1, 2, 3, 4, 5, 6, 7}).size(), 1u);
  EXPECT_THROW(color_largest_groups(x, x, {1}), InputError);
}

TEST(Figure, HeatMapIsDrawnFromTheLowEndUpwards) {
  const Panel panel{.layers = {HeatMap{{{0, 1}, {0, 1}, 2, 1, {0, 1}}, 1}}};
  const Canvas canvas = draw_figure({panel});
  const int x = canvas.width() / 2;
  EXPECT_EQ(canvas.pixel(x, 30), density_color(1));
  EXPECT_EQ(canvas.pixel(x, canvas.height() - 70), density_color(0));
}

TEST(Figure, DensityThatIsNotANumberIsShownAsMissing) {
  const Panel panel{
      .layers = {HeatMap{{{0, 1}, {0, 1}, 2, 2, {kNan, kNan, 1, kInfinity}}, 1}}};
  const Canvas canvas = draw_figure({panel});
  EXPECT_TRUE(shows(canvas, kMissing));
  EXPECT_TRUE(shows(canvas, density_color(1)));
}

TEST(Figure, OddDataAreDrawnWithoutHarm) {
  const std::vector<double> odd{kNan, kInfinity, -kInfinity, 1e308, -1e308, 0};
  const Panel empty;
  const Panel no_values{.layers = {HeatMap{}, Points{}, Series{}, Intervals{}}};
  const Panel not_finite{
      .layers = {Series{.name = "a", .x = odd, .y = odd},
                 Series{.x = odd, .y = odd, .dashed = true},
                 Intervals{.name = "c", .x = odd, .low = odd, .high = odd},
                 Points{.name = "b", .x = odd, .y = odd}}};
  const Panel equal_limits{.x = Limits{3, 3},
                           .y = Limits{kNan, kInfinity},
                           .layers = {Points{.x = {3, 3}, .y = {7, 7}}}};
  const Panel zero_scale{.layers = {HeatMap{{{1, 1}, {2, 2}, 1, 1, {0}}, 0},
                                    HeatMap{{{0, 9}, {0, 9}, 1, 1, {2}}, kNan}}};
  const Canvas canvas =
      draw_figure({empty, no_values, not_finite, equal_limits, zero_scale},
                  {.columns = 2, .color_bar = ColorBar{"density", kNan}});
  EXPECT_TRUE(shows(canvas, kInk));
}

TEST(Figure, NamedLayersAppearInALegend) {
  Series series{.x = {0, 1}, .y = {0, 1}, .color = category_color(1)};
  const Canvas plain = draw_figure({Panel{.layers = {series}}});
  series.name = "baseline";
  const Canvas named = draw_figure({Panel{.layers = {series}}});
  EXPECT_NE(plain.png(), named.png());
}

TEST(Figure, InconsistentInputIsRefused) {
  EXPECT_THROW(draw_figure({}), InputError);
  EXPECT_THROW(draw_figure({Panel{}}, {.columns = 0}), InputError);
  EXPECT_THROW(draw_figure({Panel{}}, {.scale = kNan}), InputError);
  EXPECT_THROW(draw_figure({Panel{}}, {.panel_width = 5000, .scale = 16}), InputError);
  EXPECT_THROW(draw_figure({Panel{.layers = {Points{.x = {1}, .y = {}}}}}), InputError);
  EXPECT_THROW(draw_figure({Panel{.layers = {HeatMap{{{}, {}, 2, 2, {1}}, 1}}}}),
               InputError);
}

DensityComparison small_comparison() {
  const auto grid = [](double height) {
    return DensityGrid{{-1, 1}, {-1, 1}, 2, 2, std::vector<double>(4, height)};
  };
  return {.true_density = grid(1),
          .baseline_density = grid(9),
          .adjusted_density = grid(0.75),
          .sample_x = {0, 0.5, -0.5},
          .sample_y = {0, 0.5, -0.5},
          .block = {1, 1, 2}};
}

TEST(DensityComparison, AllDensitiesShareOneColorScale) {
  const Canvas canvas = draw_density_comparison(small_comparison());
  EXPECT_NEAR(canvas.width(), 1600, 60);
  EXPECT_NEAR(canvas.height(), 440, 40);
  EXPECT_TRUE(shows(canvas, density_color(1 / 1.5)));
  EXPECT_TRUE(shows(canvas, density_color(1)));
  EXPECT_TRUE(shows(canvas, density_color(0.5)));
}

TEST(DensityComparison, EmptyAndBadInputIsHandled) {
  EXPECT_NO_THROW(draw_density_comparison({}));
  auto unequal = small_comparison();
  unequal.block.pop_back();
  EXPECT_THROW(draw_density_comparison(unequal), InputError);
  EXPECT_THROW(write_density_comparison("/nonexistent/picture.png", small_comparison()),
               InputError);
}

}  // namespace
}  // namespace kinflow
