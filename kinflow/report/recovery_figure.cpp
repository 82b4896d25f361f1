// Scatter of learned over true correlations, one panel for each method.
#include "kinflow/report/recovery_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/report/figure.h"

namespace kinflow {
namespace {

// Radii in points.
constexpr double kRadius = 1.5;
constexpr double kSmallestRadius = 0.9;
constexpr double kLargestRadius = 5;

void check(const RecoveredCorrelations& method) {
  const std::size_t blocks = method.true_rho.size();
  const bool has_sizes = !method.block_size.empty();
  if (blocks == 0 || method.learned_rho.size() != blocks ||
      (has_sizes && method.block_size.size() != blocks)) {
    throw InputError(fmt::format(
        "[recovery of \"{}\"] expected true and learned correlations and "
        "sizes (or none) of the same blocks, received {}, {} and {}",
        method.title, blocks, method.learned_rho.size(), method.block_size.size()));
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    const double truth = method.true_rho[i], learned = method.learned_rho[i];
    const double size = has_sizes ? method.block_size[i] : 1;
    if (std::abs(truth) <= 1 && std::abs(learned) <= 1 && size > 0 &&
        std::isfinite(size)) {
      continue;
    }
    throw InputError(
        fmt::format("[recovery of \"{}\"] expected correlations from -1 to 1 and sizes "
                    "above 0, received {}, {} and {} of block {}",
                    method.title, truth, learned, size, i + 1));
  }
}

// Discs of all blocks, the large ones below.
Points discs(const RecoveredCorrelations& method, Color color) {
  Points cloud{.color = color, .radius = kRadius, .alpha = 0.55};
  const auto& sizes = method.block_size;
  std::vector<std::size_t> order(method.true_rho.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double largest = 0;
  if (!sizes.empty()) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
    largest = sizes[order.front()];
  }
  for (const std::size_t i : order) {
    cloud.x.push_back(method.true_rho[i]);
    cloud.y.push_back(method.learned_rho[i]);
    if (sizes.empty()) continue;
    cloud.radii.push_back(
        std::max(kSmallestRadius, kLargestRadius * std::sqrt(sizes[i] / largest)));
  }
  return cloud;
}

Limits common_limits(const std::vector<RecoveredCorrelations>& methods) {
  std::vector<double> values{0, 1};
  for (const auto& method : methods) {
    values.insert(values.end(), method.true_rho.begin(), method.true_rho.end());
    values.insert(values.end(), method.learned_rho.begin(), method.learned_rho.end());
  }
  return limits_of(values);
}

}  // namespace

double recovery_error(const RecoveredCorrelations& method) {
  check(method);
  double squares = 0;
  for (std::size_t i = 0; i < method.true_rho.size(); ++i) {
    const double difference = method.learned_rho[i] - method.true_rho[i];
    squares += difference * difference;
  }
  return squares / static_cast<double>(method.true_rho.size());
}

Canvas draw_recovery_figure(const RecoveryFigure& figure) {
  for (const auto& method : figure.methods) check(method);
  const Limits limits = common_limits(figure.methods);
  const auto columns = static_cast<std::size_t>(std::max(figure.columns, 1));
  std::vector<Panel> panels;
  for (const auto& method : figure.methods) {
    const bool is_first = panels.size() % columns == 0;
    const Series diagonal{.x = {limits.low, limits.high},
                          .y = {limits.low, limits.high},
                          .color = kFaintInk,
                          .line_width = 0.8,
                          .dashed = true};
    panels.push_back(
        {.title = method.title,
         .subtitle = method.subtitle.empty()
                         ? fmt::format("MSE {:.3f}", recovery_error(method))
                         : method.subtitle,
         .x_label = figure.x_label,
         .y_label = is_first ? figure.y_label : "",
         .x = limits,
         .y = limits,
         .layers = {discs(method, category_color(panels.size())), diagonal},
         .tick_labels_y = is_first});
  }
  return draw_figure(
      panels, {.columns = figure.columns, .panel_width = 170, .panel_height = 170});
}

void write_recovery_figure(const std::string& path, const RecoveryFigure& figure) {
  draw_recovery_figure(figure).save(path);
}

}  // namespace kinflow
