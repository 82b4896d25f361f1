// Scores over intervals of rho: what stands where, and input that is refused.
#include "kinflow/report/strength_figure.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "kinflow/core/error.h"
#include "tests/core/not_finite.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

StrengthFigure two_methods() {
  return {.methods = {{"ordinary flow", {1.5, 1.6, 1.8, 2.1, 2.5}, {0.1, 0, 0, 0, 0.2}},
                      {"adjusted", {1.5, 1.5, 1.5, 1.5, 1.5}, {0, 0, 0, 0, 0}}},
          .entropy = 1.4};
}

// The part of the plot that belongs to interval `index` of five, without its frame.
Rectangle interval(const Canvas& canvas, int index) {
  const Rectangle plot = find_plots(canvas).at(0);
  const double left = plot.left + plot.width() * index / 5;
  return {left + 1, plot.top + 1, left + plot.width() / 5 - 1, plot.bottom - 1};
}

// The part of interval `index` around the error bars of the method at `place` of it.
Rectangle around_bar(const Canvas& canvas, int index, double place) {
  Rectangle part = interval(canvas, index);
  const double middle = part.left + place * part.width();
  part.left = middle - 7;
  part.right = middle + 7;
  return part;
}

TEST(StrengthFigure, ErrorBarsAreTwoStandardErrorsLong) {
  const Canvas canvas = draw_strength_figure(two_methods());
  const double plot_height = find_plots(canvas).at(0).height();
  const auto height = [&](int index) {
    return extent_of(canvas, category_color(0), around_bar(canvas, index, 0.45))
        .box.height();
  };
  // Limits are those of 1.4 to 2.7 with a margin at both ends.
  const double unit = plot_height / (1.3 * 1.08);
  EXPECT_NEAR(height(4), 0.4 * unit, 4);
  EXPECT_NEAR(height(0), 0.2 * unit, 4);
  EXPECT_LT(height(2), 0.1 * unit);
}

TEST(StrengthFigure, HigherScoresStandHigherAndMethodsSideBySide) {
  const Canvas canvas = draw_strength_figure(two_methods());
  double last_top = canvas.height();
  for (const int i : {1, 2, 3, 4}) {
    const auto ordinary =
        extent_of(canvas, category_color(0), around_bar(canvas, i, 0.45));
    ASSERT_GT(ordinary.count, 0);
    EXPECT_LT(ordinary.box.top, last_top) << i;
    last_top = ordinary.box.top;
  }
  // The caps of a method without errors are below its disc, whose middle is the mean.
  const auto flat = extent_of(canvas, category_color(1), around_bar(canvas, 2, 0.55));
  const double plot_top = find_plots(canvas).at(0).top;
  const double plot_height = find_plots(canvas).at(0).height();
  const double expected = plot_top + plot_height * (2.7 + 0.052 - 1.5) / (1.3 * 1.08);
  EXPECT_NEAR((flat.box.top + flat.box.bottom) / 2, expected, 1.5);
}

TEST(StrengthFigure, EntropyIsADashedLineOverTheWholeWidth) {
  auto figure = two_methods();
  const Canvas with = draw_strength_figure(figure);
  const Rectangle plot = find_plots(with).at(0);
  const double y = plot.top + plot.height() * (2.7 + 0.052 - 1.4) / (1.3 * 1.08);
  const Extent line =
      extent_of(with, kFaintInk, {plot.left + 1, y - 3, plot.right - 1, y + 3});
  EXPECT_GT(line.box.width(), 0.97 * plot.width());
  EXPECT_GT(line.count, 0.2 * plot.width());
  EXPECT_LT(line.count, 1.4 * plot.width());
  figure.entropy.reset();
  const Canvas without = draw_strength_figure(figure);
  const Rectangle inside = find_plots(without).at(0);
  EXPECT_EQ(
      extent_of(without, kFaintInk,
                {inside.left + 1, inside.top + 1, inside.right - 1, inside.bottom - 1})
          .count,
      0);
}

TEST(StrengthFigure, EveryIntervalHasATickInItsMiddle) {
  const Canvas canvas = draw_strength_figure(two_methods());
  const Rectangle plot = find_plots(canvas).at(0);
  int ticks = 0;
  for (int x = static_cast<int>(plot.left); x < plot.right; ++x) {
    if (canvas.pixel(x, static_cast<int>(plot.bottom) + 2) != kInk) continue;
    EXPECT_NEAR((x + 0.5 - plot.left) / plot.width(), 0.1 + 0.2 * ticks, 0.005);
    ++ticks;
  }
  EXPECT_EQ(ticks, 5);
}

TEST(StrengthFigure, MissingScoresLeaveGaps) {
  auto figure = two_methods();
  figure.methods[0].mean[2] = kNan;
  figure.methods[0].standard_error[4] = kNan;
  const Canvas canvas = draw_strength_figure(figure);
  EXPECT_EQ(extent_of(canvas, category_color(0), interval(canvas, 2)).count, 0);
  EXPECT_GT(extent_of(canvas, category_color(0), interval(canvas, 4)).count, 0);
}

TEST(StrengthFigure, ManyMethodsAndOtherIntervalsCanBeDrawn) {
  StrengthFigure figure{.edges = {0, 0.5, 0.9}};
  for (int i = 0; i < 9; ++i) {
    figure.methods.push_back(
        {"method " + std::to_string(i), {1.0 + i, 2}, {0.1, kNan}});
  }
  const Canvas canvas = draw_strength_figure(figure);
  for (std::size_t i = 0; i < kCategoryColors; ++i) {
    EXPECT_TRUE(shows(canvas, category_color(i)));
  }
}

TEST(StrengthFigure, InconsistentInputIsRefused) {
  const auto refused = [](auto change) {
    auto figure = two_methods();
    change(figure);
    EXPECT_THROW(draw_strength_figure(figure), InputError);
  };
  refused([](auto& f) { f.methods.clear(); });
  refused([](auto& f) { f.methods[1].mean.pop_back(); });
  refused([](auto& f) { f.methods[0].standard_error.push_back(1); });
  refused([](auto& f) { f.methods[0].standard_error[1] = -0.1; });
  refused([](auto& f) { f.edges = {0}; });
  refused([](auto& f) { f.edges[2] = f.edges[1]; });
  refused([](auto& f) { f.edges[3] = kNan; });
  EXPECT_THROW(write_strength_figure("/nonexistent/picture.png", two_methods()),
               InputError);
}

}  // namespace
}  // namespace kinflow
