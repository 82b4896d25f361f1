// Ordered p-values: quantiles of chance, places of points, the band, refused input.
#include "kinflow/report/qq_figure.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/report/color.h"
#include "tests/core/not_finite.h"
#include "tests/report/pixels.h"

namespace kinflow {
namespace {

std::vector<double> uniform(int count, std::uint64_t seed, double power = 1) {
  Random random(seed);
  std::vector<double> log10_p;
  for (int i = 0; i < count; ++i) {
    log10_p.push_back(-power * std::log10(random.uniform()));
  }
  return log10_p;
}

TEST(OrderedPQuantile, IsNearlyThatOfTheBetaDistribution) {
  struct Known {
    double k, n, low, high;  // at 2.5% and 97.5%, from 40 digits
    double tolerance;
  };
  for (const auto& [k, n, low, high, tolerance] :
       {Known{1, 10, 0.00252857854446, 0.308497107819, 0.02},
        Known{1, 100, 0.000253146032977, 0.0362166926452, 1e-3},
        Known{3, 100, 0.00622997153831, 0.0703839324711, 1e-3},
        Known{50, 100, 0.398321129503, 0.591963670845, 0.03},
        Known{51, 100, 0.408036329155, 0.601678870497, 0.03},
        Known{1, 1e6, 2.53178076638e-8, 3.68887265021e-6, 1e-6},
        Known{1000, 1e6, 0.00093900120795, 0.00106288717198, 1e-6}}) {
    EXPECT_NEAR(ordered_p_quantile(k, n, 0.025) / low, 1, tolerance)
        << k << " of " << n;
    EXPECT_NEAR(ordered_p_quantile(k, n, 0.975) / high, 1, tolerance)
        << k << " of " << n;
  }
  EXPECT_EQ(ordered_p_quantile(100, 100, 0.975), 1 - ordered_p_quantile(1, 100, 0.025));
}

TEST(QqFigure, PointsOfOneMethodStandOnTheDiagonal) {
  std::vector<double> log10_p;
  for (int i = 1; i <= 999; ++i) log10_p.push_back(-std::log10(i / 1000.0));
  const Canvas canvas = draw_qq_figure({.methods = {{.log10_p = log10_p}}});
  const Rectangle plot = find_plots(canvas).at(0);
  const auto points = extent_of(canvas, category_color(0), plot);
  EXPECT_NEAR((points.box.right - plot.left) / plot.width(), 1.04 / 1.08, 0.02);
  // The last of them is expected where it is, at the height of the diagonal; the band
  // reaches higher.
  const Rectangle last{points.box.right - 4, plot.top, plot.right, plot.bottom};
  const auto end = extent_of(canvas, category_color(0), last).box;
  const auto start = extent_of(canvas, category_color(0),
                               {plot.left, plot.top, points.box.left + 4, plot.bottom})
                         .box;
  const auto middle = [&](const Rectangle& box) {
    return 0.5 * (box.top + box.bottom);
  };
  const auto first_rank = extent_of(canvas, category_color(0),
                                    {plot.left + plot.width() / 2 - 2, plot.top,
                                     plot.left + plot.width() / 2 + 2, plot.bottom})
                              .box;
  EXPECT_NEAR(middle(first_rank), 0.5 * (middle(start) + middle(end)), 4);
  EXPECT_LT(middle(end), middle(start) - 0.3 * plot.height());
}

TEST(QqFigure, MethodsAndBandAreShown) {
  const QqFigure figure{
      .methods = {{.name = "null", .log10_p = uniform(2000, 1), .inflation = 1.004},
                  {.name = "inflated",
                   .log10_p = uniform(2000, 2, 2),
                   .inflation = 2.5}},
      .title = "Quantiles"};
  const Canvas canvas = draw_qq_figure(figure);
  EXPECT_TRUE(shows(canvas, category_color(0)));
  EXPECT_TRUE(shows(canvas, category_color(1)));
  QqFigure other = figure;
  other.methods[0].inflation = 1.005;
  EXPECT_NE(draw_qq_figure(other).png(), canvas.png());
}

TEST(QqFigure, ManyPointsAndExtremePValuesAreDrawn) {
  auto log10_p = uniform(1'000'000, 3);
  log10_p[0] = 12'345;
  log10_p[1] = kNan;
  log10_p[2] = 0;
  EXPECT_NO_THROW(draw_qq_figure({.methods = {{.log10_p = log10_p}}}));
  EXPECT_NO_THROW(draw_qq_figure({.methods = {{.log10_p = {0.5}}}}));
}

TEST(QqFigure, InconsistentInputIsRefused) {
  EXPECT_THROW(draw_qq_figure({}), InputError);
  EXPECT_THROW(draw_qq_figure({.methods = {{.log10_p = {}}}}), InputError);
  EXPECT_THROW(draw_qq_figure({.methods = {{.log10_p = {kNan}}}}), InputError);
  EXPECT_THROW(draw_qq_figure({.methods = {{.log10_p = {0.5, -1.5}}}}), InputError);
  EXPECT_THROW(
      write_qq_figure("/nonexistent/picture.png", {.methods = {{.log10_p = {0.5}}}}),
      InputError);
}

}  // namespace
}  // namespace kinflow
