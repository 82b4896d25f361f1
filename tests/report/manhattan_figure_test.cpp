// P-values along the genome: order of chromosomes, places of points, marks, thinning.
#include "kinflow/report/manhattan_figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/report/color.h"
#include "tests/core/not_finite.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

constexpr Color kFirst{41, 84, 130}, kSecond{126, 168, 204};

ManhattanFigure two_chromosomes() {
  return {.chromosome = {"2", "10", "2"},
          .position = {1'000'000, 500'000, 0},
          .log10_p = {1, 6, 0.3}};
}

TEST(ManhattanFigure, ChromosomesStandInNaturalOrderAndTakeTurns) {
  // 2 takes the left two thirds, 10 the rest, in the other colour.
  const Canvas canvas = draw_manhattan_figure(two_chromosomes());
  const Rectangle plot = find_plots(canvas).at(0);
  const auto left = extent_of(canvas, kFirst, plot).box;
  const auto right = extent_of(canvas, kSecond, plot).box;
  EXPECT_NEAR((left.left - plot.left) / plot.width(), 0, 0.01);
  EXPECT_NEAR((left.right - plot.left) / plot.width(), 2.0 / 3, 0.02);
  EXPECT_NEAR((right.right - plot.left) / plot.width(), 1, 0.02);
  EXPECT_LT(right.bottom, left.top);
}

TEST(ManhattanFigure, NamesAreInOrder) {
  const auto picture = [](const std::vector<std::string>& names) {
    return draw_manhattan_figure({.chromosome = names,
                                  .position = {100, 200, 300, 400, 500, 600, 700},
                                  .log10_p = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}})
        .png();
  };
  const std::string sorted = picture({"1", "2", "10", "X", "Y", "MT", "other"});
  EXPECT_EQ(sorted,
            picture({"chr1", "chr2", "chr10", "chrX", "chrY", "chrMT", "other"}));
  const ManhattanFigure shuffled{
      .chromosome = {"other", "X", "10", "Y", "2", "MT", "1"},
      .position = {700, 400, 300, 500, 200, 600, 100},
      .log10_p = {0.7, 0.4, 0.3, 0.5, 0.2, 0.6, 0.1}};
  EXPECT_EQ(sorted, draw_manhattan_figure(shuffled).png());
}

TEST(ManhattanFigure, HeightIsTheLogarithm) {
  ManhattanFigure figure = two_chromosomes();
  figure.threshold = 1e-12;
  const Canvas canvas = draw_manhattan_figure(figure);
  const Rectangle plot = find_plots(canvas).at(0);
  // Of p 0.1, at the right end of the first chromosome, and p 1e-6.
  const Rectangle first_end{plot.left + 0.5 * plot.width(), plot.top,
                            plot.left + 0.7 * plot.width(), plot.bottom};
  const auto low = extent_of(canvas, kFirst, first_end).box;
  const auto high = extent_of(canvas, kSecond, plot).box;
  // Away from the legend in a corner.
  const Rectangle inner{plot.left + 0.4 * plot.width(), plot.top,
                        plot.left + 0.6 * plot.width(), plot.bottom};
  const double line = extent_of(canvas, kFaintInk, inner).box.bottom;
  const double low_y = 0.5 * (low.top + low.bottom),
               high_y = 0.5 * (high.top + high.bottom);
  EXPECT_NEAR((low_y - high_y) / (low_y - line), 5.0 / 11, 0.02);
}

TEST(ManhattanFigure, IndexVariantsAreMarked) {
  ManhattanFigure figure = two_chromosomes();
  EXPECT_FALSE(shows(draw_manhattan_figure(figure), category_color(1)));
  figure.index = {1};
  const Canvas canvas = draw_manhattan_figure(figure);
  EXPECT_TRUE(shows(canvas, category_color(1)));
  EXPECT_FALSE(shows(canvas, kSecond));  // the mark covers the only point
}

TEST(ManhattanFigure, PointsOnTheSamePixelAreDrawnOnce) {
  ManhattanFigure figure = two_chromosomes();
  const std::string once = draw_manhattan_figure(figure).png();
  for (int i = 0; i < 1'000'000; ++i) {
    figure.chromosome.push_back("10");
    figure.position.push_back(500'000);
    figure.log10_p.push_back(6);
  }
  EXPECT_EQ(draw_manhattan_figure(figure).png(), once);
}

TEST(ManhattanFigure, ManyPointsAndExtremePValuesAreDrawn) {
  Random random(2);
  ManhattanFigure figure;
  for (int i = 0; i < 300'000; ++i) {
    figure.chromosome.push_back(std::to_string(1 + i / 15'000));
    figure.position.push_back(i % 15'000);
    figure.log10_p.push_back(-std::log10(random.uniform()));
  }
  figure.log10_p[7] = 12'345;
  figure.log10_p[8] = kNan;
  EXPECT_NO_THROW(draw_manhattan_figure(figure));
}

TEST(ManhattanFigure, InconsistentInputIsRefused) {
  const auto refused = [](const auto& change) {
    ManhattanFigure figure = two_chromosomes();
    change(figure);
    EXPECT_THROW(draw_manhattan_figure(figure), InputError);
  };
  refused([](auto& figure) { figure.log10_p.pop_back(); });
  refused([](auto& figure) { figure.chromosome.pop_back(); });
  refused([](auto& figure) { figure.log10_p[0] = HUGE_VAL; });
  refused([](auto& figure) { figure.log10_p[0] = -0.5; });
  refused([](auto& figure) { figure.log10_p = {kNan, kNan, kNan}; });
  refused([](auto& figure) { figure.position[1] = -1; });
  refused([](auto& figure) { figure.index = {3}; });
  refused([](auto& figure) { figure.threshold = 0; });
  EXPECT_THROW(draw_manhattan_figure({}), InputError);
  EXPECT_THROW(write_manhattan_figure("/nonexistent/picture.png", two_chromosomes()),
               InputError);
}

}  // namespace
}  // namespace kinflow
