// Ordered p-values over their expectations, and the band of chance.
#include "kinflow/report/qq_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/report/figure.h"
#include "kinflow/report/point_thinner.h"
#include "kinflow/statistics/chi_squared.h"

namespace kinflow {
namespace {

constexpr double kQqSide = 230;  // points
constexpr double kQqRadius = 1.3;
constexpr std::size_t kCells = 2 * static_cast<std::size_t>(kQqSide);

// -log10 of what the k-th smallest of n uniform p-values is on average.
double expected(double k, double n) { return -std::log10(k / (n + 1)); }

// The smallest p-value first.
std::vector<double> sorted_log10_p(const QqPValues& method) {
  std::vector<double> sorted;
  for (const double log10_p : method.log10_p) {
    if (log10_p < 0 || std::isinf(log10_p)) {
      throw InputError(fmt::format(
          "[draw_qq_figure] expected -log10 of p-values above 0 of \"{}\", received {}",
          method.name, log10_p));
    }
    if (!std::isnan(log10_p)) sorted.push_back(log10_p);
  }
  if (sorted.empty()) {
    throw InputError(fmt::format(
        "[draw_qq_figure] expected p-values of \"{}\", received none", method.name));
  }
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted;
}

std::string label_of(const QqPValues& method) {
  if (!method.inflation) return method.name;
  const std::string inflation = fmt::format("\u03bb = {:.3f}", *method.inflation);
  return method.name.empty() ? inflation : method.name + ", " + inflation;
}

Points cloud_of(const std::vector<double>& sorted, Limits x, Limits y) {
  Points cloud{.radius = kQqRadius};
  PointThinner thinner(x, y, kCells, kCells);
  const auto n = static_cast<double>(sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double place = expected(static_cast<double>(i + 1), n);
    const double height = sorted[i];
    if (!thinner.takes(place, height)) continue;
    cloud.x.push_back(place);
    cloud.y.push_back(height);
  }
  return cloud;
}

// Ranks at equal steps of the axis, from n down to 1.
Band band_of(double n) {
  constexpr int kSteps = 120;
  constexpr double kOutside = 0.05;
  Band band{.name = "95% band"};
  double last_rank = n + 1;
  for (int i = 0; i <= kSteps; ++i) {
    const double rank = std::round(std::pow(n, 1 - static_cast<double>(i) / kSteps));
    if (rank >= last_rank) continue;
    last_rank = rank;
    band.x.push_back(expected(rank, n));
    band.low.push_back(-std::log10(ordered_p_quantile(rank, n, 1 - kOutside / 2)));
    band.high.push_back(-std::log10(ordered_p_quantile(rank, n, kOutside / 2)));
  }
  return band;
}

}  // namespace

double ordered_p_quantile(double k, double n, double probability) {
  // The k-th smallest is as far from 0 as the (n + 1 - k)-th is from 1.
  if (2 * k > n + 1) return 1 - ordered_p_quantile(n + 1 - k, n, 1 - probability);
  // A beta variable of k and n + 1 - k through a gamma variable of k (Bol'shev).
  const double gamma = 0.5 * inverse_chi_squared_tail(1 - probability, 2 * k);
  return 2 * gamma / (2 * n + 1 - k + gamma);
}

Canvas draw_qq_figure(const QqFigure& figure) {
  if (figure.methods.empty()) {
    throw InputError("[draw_qq_figure] expected a method, received none");
  }
  std::vector<std::vector<double>> sorted;
  double most = 0, highest = 0;
  for (const auto& method : figure.methods) {
    sorted.push_back(sorted_log10_p(method));
    most = std::max(most, static_cast<double>(sorted.back().size()));
    highest = std::max(highest, sorted.back().front());
  }
  const double widest = expected(1, most);
  std::vector<PlotLayer> layers;
  layers.emplace_back(band_of(most));
  layers.emplace_back(Series{.x = {0, widest},
                             .y = {0, widest},
                             .color = kFaintInk,
                             .line_width = 0.8,
                             .dashed = true});
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    Points cloud = cloud_of(sorted[i], {0, widest}, {0, highest});
    cloud.name = label_of(figure.methods[i]);
    cloud.color = category_color(i);
    layers.emplace_back(std::move(cloud));
  }
  const Panel panel{.title = figure.title,
                    .subtitle = figure.subtitle,
                    .x_label = "expected \u2212log10 p",
                    .y_label = "observed \u2212log10 p",
                    .layers = std::move(layers)};
  return draw_figure({panel}, {.panel_width = kQqSide, .panel_height = kQqSide});
}

void write_qq_figure(const std::string& path, const QqFigure& figure) {
  draw_qq_figure(figure).save(path);
}

}  // namespace kinflow
