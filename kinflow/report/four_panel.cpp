// Puts the four panels together with common limits and one colour scale.
#include "kinflow/report/four_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

namespace kinflow {
namespace {

double largest_density(const DensityGrid& grid) {
  double largest = 0;
  for (const double v : grid.values) {
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  return largest;
}

double color_maximum(const DensityComparison& c) {
  const double truth = largest_density(c.true_density);
  const double learned = std::max(largest_density(c.baseline_density),
                                  largest_density(c.adjusted_density));
  const double largest = truth > 0 ? std::clamp(learned, truth, 1.5 * truth) : learned;
  return largest > 0 ? largest : 1;
}

// "6 of 153 blocks (coloured) hold 57% of rows"
std::string describe_groups(const std::vector<PlotLayer>& layers,
                            const std::vector<std::int64_t>& block) {
  const std::size_t blocks = std::unordered_set(block.begin(), block.end()).size();
  const std::size_t colored = layers.size() - 1;
  if (colored == 0 || colored == blocks) return fmt::format("{} blocks", blocks);
  const std::size_t rest = std::get<Points>(layers.front()).x.size();
  const double share =
      static_cast<double>(block.size() - rest) / static_cast<double>(block.size());
  return fmt::format("{} of {} blocks (coloured) hold {:.0f}% of rows", colored, blocks,
                     100 * share);
}

}  // namespace

Canvas draw_density_comparison(const DensityComparison& c) {
  const double maximum = color_maximum(c);
  auto groups = color_largest_groups(c.sample_x, c.sample_y, c.block);
  const std::string sample_subtitle =
      c.sample_subtitle.empty() ? describe_groups(groups, c.block) : c.sample_subtitle;
  const auto density = [&](const DensityGrid& grid) {
    return std::vector<PlotLayer>{HeatMap{grid, maximum}};
  };
  std::vector<Panel> panels(4);
  const auto set = [&](std::size_t i, const std::string& title,
                       const std::string& subtitle, std::vector<PlotLayer> layers) {
    panels[i] = {.title = title,
                 .subtitle = subtitle,
                 .x_label = c.x_label,
                 .y_label = i == 0 ? c.y_label : "",
                 .x = c.true_density.x,
                 .y = c.true_density.y,
                 .layers = std::move(layers),
                 .tick_labels_y = i == 0};
  };
  set(0, c.true_title, c.true_subtitle, density(c.true_density));
  set(1, c.sample_title, sample_subtitle, std::move(groups));
  set(2, c.baseline_title, c.baseline_subtitle, density(c.baseline_density));
  set(3, c.adjusted_title, c.adjusted_subtitle, density(c.adjusted_density));
  return draw_figure(panels, {.color_bar = ColorBar{"density", maximum}});
}

void write_density_comparison(const std::string& path,
                              const DensityComparison& comparison) {
  draw_density_comparison(comparison).save(path);
}

}  // namespace kinflow
