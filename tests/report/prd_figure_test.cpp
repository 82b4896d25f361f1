// Precision-recall curves: what stands where, and input that is refused.
#include "kinflow/report/prd_figure.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "kinflow/core/error.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

PrdFigure two_curves() {
  return {.curves = {{"baseline", {0, 0.8, 0.8}, {0.7, 0.7, 0}},
                     {"adjusted", {0, 0.9, 0.9}, {0.85, 0.85, 0}}},
          .title = "faces",
          .subtitle = "kinflow-features-1"};
}

// Pixel of a precision or recall in a plot with limits -0.01 and 1.01.
double place(double low, double length, double value) {
  return low + length * (value + 0.01) / 1.02;
}

TEST(PrdFigure, CurvesStandAtTheirRecallAndPrecision) {
  const Canvas canvas = draw_prd_figure(two_curves());
  const Rectangle plot = find_plots(canvas).at(0);
  for (const std::size_t i : {0U, 1U}) {
    const double recall = i == 0 ? 0.7 : 0.85, precision = i == 0 ? 0.8 : 0.9;
    const double right = place(plot.left, plot.width(), recall);
    const double top = plot.bottom - place(0, plot.height(), precision);
    const Extent level = extent_of(canvas, category_color(i),
                                   {plot.left + 1, top - 8, plot.right - 1, top + 8});
    ASSERT_GT(level.count, 0) << i;
    EXPECT_NEAR(level.box.right, right, 2.5) << i;
    EXPECT_NEAR((level.box.top + level.box.bottom) / 2, top, 8) << i;
    const Extent fall = extent_of(canvas, category_color(i),
                                  {right - 6, top, right + 6, plot.bottom - 1});
    EXPECT_NEAR(fall.box.height(), precision * plot.height() / 1.02, 6) << i;
  }
}

TEST(PrdFigure, TheLegendNamesEveryCurve) {
  auto figure = two_curves();
  const Canvas with = draw_prd_figure(figure);
  for (auto& curve : figure.curves) curve.name.clear();
  const Canvas without = draw_prd_figure(figure);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_GT(extent_of(with, category_color(i), whole(with)).count,
              extent_of(without, category_color(i), whole(without)).count + 10);
  }
}

TEST(PrdFigure, ManyCurvesRepeatColorsWithDashes) {
  PrdFigure figure;
  for (int i = 0; i < 8; ++i) {
    figure.curves.push_back(
        {"model " + std::to_string(i), {0, 1}, {0.05 * i, 0.05 * i}});
  }
  const Canvas canvas = draw_prd_figure(figure);
  const Rectangle plot = find_plots(canvas).at(0);
  const auto rows_with_gap = [&](double recall) {
    const double x = place(plot.left, plot.width(), recall);
    int rows = 0;
    for (double y = plot.top + 8; y < plot.bottom - 8; ++y) {
      rows += extent_of(canvas, kWhite, {x - 2, y, x + 2, y + 1}).count >= 4;
    }
    return rows;
  };
  EXPECT_EQ(rows_with_gap(0.05), 0);
  EXPECT_GT(rows_with_gap(0.3), 0.1 * plot.height());
}

TEST(PrdFigure, InconsistentInputIsRefused) {
  const auto refused = [](auto change) {
    auto figure = two_curves();
    change(figure);
    EXPECT_THROW(draw_prd_figure(figure), InputError);
  };
  refused([](auto& f) { f.curves.clear(); });
  refused([](auto& f) { f.curves[1].recall.pop_back(); });
  refused([](auto& f) { f.curves[0] = {"empty", {}, {}}; });
  refused([](auto& f) { f.curves[0].precision[1] = 1.01; });
  refused([](auto& f) { f.curves[0].recall[1] = -0.01; });
  refused([](auto& f) {
    f.curves[1].recall[0] = std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_THROW(write_prd_figure("/nonexistent/picture.png", two_curves()), InputError);
}

}  // namespace
}  // namespace kinflow
