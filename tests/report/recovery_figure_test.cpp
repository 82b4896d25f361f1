// Learned over true correlations: panels, places of discs, errors and refused input.
#include "kinflow/report/recovery_figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kinflow/core/error.h"
#include "tests/core/not_finite.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

// The colour of a half transparent disc over white.
bool is_tinted(Color c) { return c.red < 230 && c.blue > c.red + 30; }

// Middle and width of what is tinted by the first category in a part of a picture.
struct Disc {
  double x = 0, y = 0, width = 0;
};

Disc find_disc(const Canvas& canvas, const Rectangle& part) {
  double left = 1e9, right = -1, sum_x = 0, sum_y = 0, count = 0;
  for (int y = static_cast<int>(part.top); y < part.bottom; ++y) {
    for (int x = static_cast<int>(part.left); x < part.right; ++x) {
      if (!is_tinted(canvas.pixel(x, y))) continue;
      left = std::min<double>(left, x);
      right = std::max<double>(right, x + 1);
      sum_x += x + 0.5;
      sum_y += y + 0.5;
      ++count;
    }
  }
  return {sum_x / count, sum_y / count, right - left};
}

TEST(RecoveryError, IsTheMeanSquaredDifference) {
  EXPECT_DOUBLE_EQ(
      recovery_error({.true_rho = {0, 0.5, 1}, .learned_rho = {0.25, 0.5, 0.5}}),
      (0.0625 + 0.25) / 3);
}

TEST(RecoveryFigure, DiscsStandAtTrueAndLearnedCorrelation) {
  const Canvas canvas =
      draw_recovery_figure({.methods = {{.true_rho = {0.25}, .learned_rho = {0.75}}}});
  const Rectangle plot = find_plots(canvas).at(0);
  EXPECT_NEAR(plot.width(), plot.height(), 1);
  const Disc disc = find_disc(canvas, plot);
  // Limits are 0 to 1 with a margin of 0.04 at both ends.
  EXPECT_NEAR((disc.x - plot.left) / plot.width(), 0.29 / 1.08, 0.005);
  EXPECT_NEAR((plot.bottom - disc.y) / plot.height(), 0.79 / 1.08, 0.005);
}

TEST(RecoveryFigure, AreaFollowsTheSizeOfTheBlock) {
  const Canvas canvas =
      draw_recovery_figure({.methods = {{.true_rho = {0.1, 0.5, 0.9},
                                         .learned_rho = {0.8, 0.8, 0.1},
                                         .block_size = {400, 100, 1}}}});
  const Rectangle plot = find_plots(canvas).at(0);
  const double first = plot.left + plot.width() * 0.34 / 1.08;
  const double upper = plot.top + plot.height() / 3;
  const double large = find_disc(canvas, {plot.left, plot.top, first, upper}).width;
  const double middle =
      find_disc(canvas, {first, plot.top, plot.left + plot.width() * 0.6, upper}).width;
  const double small =
      find_disc(canvas, {plot.left + plot.width() * 0.8, plot.top + plot.height() * 0.7,
                         plot.right, plot.bottom})
          .width;
  EXPECT_NEAR(large / middle, 2, 0.2);
  EXPECT_GT(small, 2);
  EXPECT_LT(small, middle / 2);
}

TEST(RecoveryFigure, EveryMethodHasAPanelWithADiagonal) {
  const RecoveredCorrelations method{
      .title = "Joint", .true_rho = {0.2, 0.9}, .learned_rho = {0.9, 0.2}};
  const Canvas canvas = draw_recovery_figure({.methods = {method, method, method}});
  const auto plots = find_plots(canvas);
  ASSERT_EQ(plots.size(), 3u);
  for (const auto& plot : plots) {
    int near_diagonal = 0;
    for (double x = plot.left + 5; x < plot.right - 5; ++x) {
      const double y = plot.bottom - (x - plot.left);
      near_diagonal += extent_of(canvas, kFaintInk, {x, y - 3, x + 1, y + 3}).count > 0;
    }
    EXPECT_GT(near_diagonal, 0.3 * plot.width());
    EXPECT_LT(near_diagonal, 0.9 * plot.width());
  }
}

TEST(RecoveryFigure, NegativeCorrelationsWidenAllPanelsAlike) {
  const RecoveredCorrelations plain{.true_rho = {0.5}, .learned_rho = {0.5}};
  const RecoveredCorrelations negative{.true_rho = {0.5}, .learned_rho = {-1}};
  const Canvas canvas = draw_recovery_figure({.methods = {plain, negative}});
  const Rectangle plot = find_plots(canvas).at(0);
  const Disc disc = find_disc(canvas, plot);
  EXPECT_NEAR((disc.x - plot.left) / plot.width(), 1.58 / 2.16, 0.01);
}

TEST(RecoveryFigure, SubtitleIsTheErrorUnlessGiven) {
  RecoveredCorrelations method{.true_rho = {0.1, 0.2}, .learned_rho = {0.3, 0.2}};
  const std::string by_itself = draw_recovery_figure({.methods = {method}}).png();
  method.subtitle = "MSE 0.020";
  EXPECT_EQ(draw_recovery_figure({.methods = {method}}).png(), by_itself);
  method.subtitle = "MSE 0.021";
  EXPECT_NE(draw_recovery_figure({.methods = {method}}).png(), by_itself);
}

TEST(RecoveryFigure, InconsistentInputIsRefused) {
  EXPECT_THROW(draw_recovery_figure({}), InputError);
  const auto refused = [](const RecoveredCorrelations& method) {
    EXPECT_THROW(draw_recovery_figure({.methods = {method}}), InputError);
    EXPECT_THROW(recovery_error(method), InputError);
  };
  refused({});
  refused({.true_rho = {0.1}, .learned_rho = {0.1, 0.2}});
  refused({.true_rho = {0.1}, .learned_rho = {kNan}});
  refused({.true_rho = {1.5}, .learned_rho = {0.5}});
  refused({.true_rho = {0.1}, .learned_rho = {0.1}, .block_size = {1, 2}});
  refused({.true_rho = {0.1}, .learned_rho = {0.1}, .block_size = {0}});
  const RecoveredCorrelations method{.true_rho = {0.1}, .learned_rho = {0.1}};
  EXPECT_THROW(draw_recovery_figure({.methods = {method}, .columns = 0}), InputError);
  EXPECT_THROW(write_recovery_figure("/nonexistent/picture.png", {.methods = {method}}),
               InputError);
}

}  // namespace
}  // namespace kinflow
