// Lines with error bars over intervals of rho.
#include "kinflow/report/strength_figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/report/figure.h"

namespace kinflow {
namespace {

void check(const StrengthFigure& figure) {
  const auto& edges = figure.edges;
  bool ascending = edges.size() >= 2;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    ascending = ascending && edges[i] > edges[i - 1];
  }
  if (!ascending || !std::isfinite(edges.back() - edges.front())) {
    throw InputError(fmt::format(
        "[draw_strength_figure] expected ascending edges of intervals, received {}",
        fmt::join(edges, ", ")));
  }
  if (figure.methods.empty()) {
    throw InputError("[draw_strength_figure] expected a method, received none");
  }
  for (const auto& method : figure.methods) {
    const std::size_t intervals = edges.size() - 1;
    if (method.mean.size() != intervals || method.standard_error.size() != intervals) {
      throw InputError(fmt::format(
          "[draw_strength_figure] expected means and standard errors of {} intervals "
          "for \"{}\", received {} and {}",
          intervals, method.name, method.mean.size(), method.standard_error.size()));
    }
    for (const double error : method.standard_error) {
      if (!(error < 0)) continue;
      throw InputError(fmt::format(
          "[draw_strength_figure] expected standard errors from 0 for \"{}\", received "
          "{}",
          method.name, error));
    }
  }
}

// The middles of the intervals, with labels such as "0.2–0.4".
Ticks interval_ticks(const std::vector<double>& edges) {
  Ticks ticks;
  for (std::size_t i = 1; i < edges.size(); ++i) {
    ticks.positions.push_back(std::midpoint(edges[i - 1], edges[i]));
    ticks.labels.push_back(fmt::format("{:g}\u2013{:g}", edges[i - 1], edges[i]));
  }
  return ticks;
}

// Where method `index` stands in an interval, as a part of its width from the middle.
double place_in_interval(std::size_t index, std::size_t methods) {
  constexpr double kDistance = 0.1, kWidest = 0.5;
  if (methods < 2) return 0;
  const auto gaps = static_cast<double>(methods - 1);
  const double distance = std::min(kDistance, kWidest / gaps);
  return distance * (static_cast<double>(index) - gaps / 2);
}

void add_method(std::vector<PlotLayer>& layers, const StrengthFigure& figure,
                std::size_t index) {
  const auto& method = figure.methods[index];
  const double place = place_in_interval(index, figure.methods.size());
  std::vector<double> x, low, high;
  for (std::size_t i = 0; i < method.mean.size(); ++i) {
    const double left = figure.edges[i], right = figure.edges[i + 1];
    x.push_back(std::lerp(left, right, 0.5 + place));
    low.push_back(method.mean[i] - method.standard_error[i]);
    high.push_back(method.mean[i] + method.standard_error[i]);
  }
  const Color color = category_color(index);
  layers.emplace_back(
      Series{.name = method.name, .x = x, .y = method.mean, .color = color});
  layers.emplace_back(Intervals{.x = x, .low = low, .high = high, .color = color});
  layers.emplace_back(Points{.name = method.name,
                             .x = std::move(x),
                             .y = method.mean,
                             .color = color,
                             .radius = 2});
}

}  // namespace

Canvas draw_strength_figure(const StrengthFigure& figure) {
  check(figure);
  const Limits x{figure.edges.front(), figure.edges.back()};
  std::vector<PlotLayer> layers;
  if (figure.entropy) {
    layers.emplace_back(Series{.name = "entropy",
                               .x = {x.low, x.high},
                               .y = {*figure.entropy, *figure.entropy},
                               .color = kFaintInk,
                               .line_width = 1,
                               .dashed = true});
  }
  for (std::size_t i = 0; i < figure.methods.size(); ++i) {
    add_method(layers, figure, i);
  }
  const Panel panel{.title = figure.title,
                    .x_label = figure.x_label,
                    .y_label = figure.y_label,
                    .x = x,
                    .x_ticks = interval_ticks(figure.edges),
                    .layers = std::move(layers)};
  return draw_figure({panel}, {.panel_width = 300, .panel_height = 190});
}

void write_strength_figure(const std::string& path, const StrengthFigure& figure) {
  draw_strength_figure(figure).save(path);
}

}  // namespace kinflow
