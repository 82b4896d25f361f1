// Precision over recall, a line for each model.
#include "kinflow/report/prd_figure.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/report/figure.h"

namespace kinflow {
namespace {

constexpr double kPrdSide = 230;  // points

void check_part(const PrdFigureCurve& curve, const std::vector<double>& values) {
  for (const double value : values) {
    if (value >= 0 && value <= 1) continue;
    throw InputError(fmt::format(
        "[draw_prd_figure] expected precision and recall from 0 to 1 of \"{}\", "
        "received {}",
        curve.name, value));
  }
}

void check(const PrdFigure& figure) {
  if (figure.curves.empty()) {
    throw InputError("[draw_prd_figure] expected a curve, received none");
  }
  for (const auto& curve : figure.curves) {
    if (curve.precision.empty() || curve.precision.size() != curve.recall.size()) {
      throw InputError(
          fmt::format("[draw_prd_figure] expected as many precisions as recalls of "
                      "\"{}\", received "
                      "{} and {}",
                      curve.name, curve.precision.size(), curve.recall.size()));
    }
    check_part(curve, curve.precision);
    check_part(curve, curve.recall);
  }
}

}  // namespace

Canvas draw_prd_figure(const PrdFigure& figure) {
  check(figure);
  std::vector<PlotLayer> layers;
  for (std::size_t i = 0; i < figure.curves.size(); ++i) {
    const auto& curve = figure.curves[i];
    layers.emplace_back(Series{.name = curve.name,
                               .x = curve.recall,
                               .y = curve.precision,
                               .color = category_color(i),
                               .dashed = i >= kCategoryColors});
  }
  // A little beyond 0 and 1, so that lines along the edges are seen whole.
  constexpr Limits kLimits{-0.01, 1.01};
  const Panel panel{.title = figure.title,
                    .subtitle = figure.subtitle,
                    .x_label = "recall",
                    .y_label = "precision",
                    .x = kLimits,
                    .y = kLimits,
                    .layers = std::move(layers)};
  return draw_figure({panel}, {.panel_width = kPrdSide, .panel_height = kPrdSide});
}

void write_prd_figure(const std::string& path, const PrdFigure& figure) {
  draw_prd_figure(figure).save(path);
}

}  // namespace kinflow
