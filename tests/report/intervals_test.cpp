// Error bars, legends that stay clear of data, and named ticks.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/report/figure.h"
#include "kinflow/report/legend.h"
#include "tests/core/not_finite.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

constexpr Color kRed{200, 0, 0};

// 100 x 100 pixels, ten to a unit, y upwards.
const PlotArea kArea{{0, 0, 100, 100}, {0, 10}, {0, 10}, 1};

TEST(Intervals, ReachFromLowToHighWithCapsAtBothEnds) {
  Canvas canvas(100, 100);
  draw_layer(canvas, kArea,
             Intervals{.x = {5},
                       .low = {2},
                       .high = {7},
                       .color = kRed,
                       .line_width = 2,
                       .cap_width = 12});
  const Extent all = extent_of(canvas, kRed, whole(canvas));
  EXPECT_EQ(all.box.top, 29);
  EXPECT_EQ(all.box.bottom, 81);
  EXPECT_NEAR(all.box.width(), 12, 2);
  for (const int cap : {30, 79}) {
    EXPECT_EQ(canvas.pixel(46, cap), kRed);
    EXPECT_EQ(canvas.pixel(54, cap), kRed);
  }
  for (const int y : {35, 50, 75}) {
    EXPECT_EQ(canvas.pixel(50, y), kRed) << y;
    EXPECT_EQ(canvas.pixel(46, y), kWhite) << y;
    EXPECT_EQ(canvas.pixel(54, y), kWhite) << y;
  }
}

TEST(Intervals, StayInsideTheAreaAndLeaveOutWhatIsNotFinite) {
  Canvas canvas(120, 100);
  draw_layer(canvas, kArea,
             Intervals{.x = {9.9, kNan, 3, 4},
                       .low = {-50, 1, kNan, 4},
                       .high = {50, 2, 6, kNan},
                       .color = kRed,
                       .line_width = 2});
  EXPECT_GT(extent_of(canvas, kRed, {90, 0, 100, 100}).count, 90);
  EXPECT_EQ(extent_of(canvas, kRed, {0, 0, 90, 100}).count, 0);
  EXPECT_EQ(extent_of(canvas, kRed, {100, 0, 120, 100}).count, 0);
}

TEST(Intervals, BothEndsCountForTheLimits) {
  const Limits y =
      limits_of_layers({Intervals{.x = {1, 2}, .low = {3, -4}, .high = {8, 5}}}, false);
  EXPECT_NEAR(y.low, -4, 0.6);
  EXPECT_LT(y.low, -4);
  EXPECT_GT(y.high, 8);
}

TEST(Intervals, InconsistentOnesAreRefused) {
  EXPECT_THROW(check_layer(Intervals{.x = {1}, .low = {0}, .high = {}}), InputError);
  EXPECT_THROW(check_layer(Intervals{.x = {1}, .low = {}, .high = {2}}), InputError);
  EXPECT_THROW(check_layer(Intervals{.x = {1}, .low = {3}, .high = {2}}), InputError);
  EXPECT_NO_THROW(check_layer(Intervals{.x = {1}, .low = {2}, .high = {2}}));
  EXPECT_THROW(check_layer(Points{.x = {1, 2}, .y = {1, 2}, .radii = {1}}), InputError);
}

TEST(Points, MayHaveRadiiOfTheirOwn) {
  Canvas canvas(100, 100);
  draw_layer(canvas, kArea,
             Points{.x = {2, 7}, .y = {5, 5}, .color = kRed, .radii = {3, 12}});
  EXPECT_NEAR(extent_of(canvas, kRed, {0, 0, 45, 100}).box.width(), 6, 2);
  EXPECT_NEAR(extent_of(canvas, kRed, {45, 0, 100, 100}).box.width(), 24, 2);
}

TEST(Legend, LayersOfOneNameShareAnEntry) {
  // Rows from the first to the last with text, which ends near the right side.
  const auto text_rows = [](const std::vector<PlotLayer>& layers) {
    Canvas canvas(100, 100);
    draw_legend(canvas, kArea, layers, 10);
    int first = 100, last = 0;
    for (int y = 0; y < 100; ++y) {
      for (int x = 80; x < 100; ++x) {
        if (canvas.pixel(x, y) == kWhite) continue;
        first = std::min(first, y);
        last = y;
      }
    }
    return last - first;
  };
  const Series line{.name = "HH", .color = kRed};
  const Points points{.name = "HH", .color = kRed};
  const Intervals bars{.name = "HH", .color = kRed}, others{.name = "H", .color = kRed};
  EXPECT_GT(text_rows({line}), 4);
  EXPECT_EQ(text_rows({line}), text_rows({line, points, bars}));
  EXPECT_NEAR(text_rows({line, others}) - text_rows({line}), 14, 1);
}

TEST(Legend, ShowsErrorBarsAsBars) {
  Canvas canvas(100, 100);
  draw_legend(canvas, kArea, {Intervals{.name = "H", .color = kRed, .line_width = 2}},
              10);
  const Extent key = extent_of(canvas, kRed, whole(canvas));
  EXPECT_GT(key.count, 10);
  EXPECT_GT(key.box.height(), key.box.width());
}

TEST(Legend, KnowsLinesAndBarsThatPassBetweenTheirEnds) {
  const auto clear = [](const PlotLayer& layer) {
    return legend_is_clear(kArea, {layer, Points{.name = "H"}}, 10);
  };
  EXPECT_TRUE(clear(Series{.x = {0, 10}, .y = {5, 5}}));
  // A cross hides every corner with ends that lie outside the area.
  EXPECT_FALSE(clear(Series{.x = {-5, 15, 15, -5}, .y = {-5, 15, -5, 15}}));
  EXPECT_FALSE(clear(Intervals{.x = {1, 9}, .low = {-20, -20}, .high = {20, 20}}));
  EXPECT_TRUE(clear(Intervals{.x = {1, 9}, .low = {-20, 2}, .high = {20, 7}}));
  EXPECT_TRUE(legend_is_clear(kArea, {Series{.x = {0, 1}, .y = {0, 1}}}, 10));
}

TEST(Figure, LimitsLeaveRoomForTheLegend) {
  // A saw whose teeth fill every corner.
  const Series saw{.x = {0, 1, 2, 3, 4, 5, 6, 7, 8},
                   .y = {0, 1, 0, 1, 0, 1, 0, 1, 0},
                   .color = kRed};
  Series named = saw;
  named.name = "saw";
  const auto highest = [](const Series& series) {
    const Canvas canvas = draw_figure({Panel{.layers = {series}}});
    const Rectangle plot = find_plots(canvas).at(0);
    // The left half, where the legend is not.
    const Rectangle part{plot.left, plot.top, (plot.left + plot.right) / 2,
                         plot.bottom};
    return (extent_of(canvas, kRed, part).box.top - plot.top) / plot.height();
  };
  EXPECT_LT(highest(saw), 0.06);
  EXPECT_GT(highest(named), 0.1);
  EXPECT_LT(highest(named), 0.25);
}

TEST(Figure, NamedTicksStandAtTheirPlaces) {
  const Panel panel{.x = Limits{0, 4},
                    .x_ticks = Ticks{{1, 3, 9}, {"low", "high", "outside"}}};
  const Canvas canvas = draw_figure({panel});
  const Rectangle plot = find_plots(canvas).at(0);
  std::vector<double> ticks;
  for (int x = 0; x < canvas.width(); ++x) {
    const int below = static_cast<int>(plot.bottom) + 2;
    if (canvas.pixel(x, below) == kInk) ticks.push_back((x - plot.left) / plot.width());
  }
  ASSERT_EQ(ticks.size(), 2u);
  EXPECT_NEAR(ticks[0], 0.25, 0.01);
  EXPECT_NEAR(ticks[1], 0.75, 0.01);
  EXPECT_THROW(draw_figure({Panel{.x_ticks = Ticks{{1, 2}, {"one"}}}}), InputError);
}

}  // namespace
}  // namespace kinflow
