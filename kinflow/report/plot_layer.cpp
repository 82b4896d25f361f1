// Drawing of densities, points, lines, error bars and bands.
#include "kinflow/report/plot_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

// The two cells whose centres enclose a place along one side of a grid, and how far the
// place is from the first to the second. Beyond the outer centres both are the same.
struct Between {
  std::size_t first, second;
  double share;
};

Between between_cells(double fraction, std::size_t cells) {
  const double last = static_cast<double>(cells - 1);
  const double place =
      std::clamp(fraction * static_cast<double>(cells) - 0.5, 0.0, last);
  const auto first = static_cast<std::size_t>(place);
  return {first, std::min(first + 1, cells - 1), place - static_cast<double>(first)};
}

// Unlike std::lerp, NaN at either end gives NaN.
double mix(double a, double b, double share) { return a + share * (b - a); }

double fraction_inside(Limits limits, double value) {
  return (value - limits.low) / (limits.high - limits.low);
}

void draw(Canvas& canvas, const PlotArea& area, const HeatMap& map) {
  const auto& d = map.density;
  if (d.values.empty()) return;
  const Limits grid_x = usable_limits(d.x), grid_y = usable_limits(d.y);
  const double maximum = map.maximum > 0 ? map.maximum : 1;
  const auto cell = [&](std::size_t row, std::size_t column) {
    return std::clamp(d.values[row * d.columns + column] / maximum, 0.0, 1.0);
  };
  const auto& r = area.pixels;
  for (double py = std::floor(r.top); py < r.bottom; ++py) {
    const double y = mix(area.y.low, area.y.high, (r.bottom - py - 0.5) / r.height());
    const double v = fraction_inside(grid_y, y);
    if (v < 0 || v > 1) continue;
    const Between i = between_cells(v, d.rows);
    for (double px = std::floor(r.left); px < r.right; ++px) {
      const double x = mix(area.x.low, area.x.high, (px + 0.5 - r.left) / r.width());
      const double u = fraction_inside(grid_x, x);
      if (u < 0 || u > 1) continue;
      const Between j = between_cells(u, d.columns);
      const double low = mix(cell(i.first, j.first), cell(i.first, j.second), j.share);
      const double high =
          mix(cell(i.second, j.first), cell(i.second, j.second), j.share);
      canvas.set_pixel(static_cast<int>(px), static_cast<int>(py),
                       density_color(mix(low, high, i.share)));
    }
  }
}

void draw(Canvas& canvas, const PlotArea& area, const Points& cloud) {
  for (std::size_t i = 0; i < cloud.x.size(); ++i) {
    const double radius = cloud.radii.empty() ? cloud.radius : cloud.radii[i];
    canvas.disc(area.to_pixel(cloud.x[i], cloud.y[i]), radius * area.scale, cloud.color,
                cloud.alpha);
  }
}

// The pen goes down and up every `dash` pixels of the way.
void draw_dashed(Canvas& canvas, const Stroke& stroke, double dash, double line_width,
                 Color color) {
  constexpr double kLongest = 1e5;  // pixels; such a segment is left out
  double way = 0;
  for (std::size_t i = 1; i < stroke.size(); ++i) {
    const Point a = stroke[i - 1], b = stroke[i];
    const double length = std::hypot(b.x - a.x, b.y - a.y);
    if (!(length < kLongest)) continue;
    const auto at = [&](double done) {
      return Point{std::lerp(a.x, b.x, done / length),
                   std::lerp(a.y, b.y, done / length)};
    };
    for (double done = 0; done < length;) {
      const bool down = std::fmod(way, 2 * dash) < dash;
      const double rest = std::max(dash - std::fmod(way, dash), 0.01);
      const double next = std::min(done + rest, length);
      if (down) canvas.line({at(done), at(next)}, line_width, color);
      way += next - done;
      done = next;
    }
  }
}

void draw(Canvas& canvas, const PlotArea& area, const Series& series) {
  Stroke stroke;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    stroke.push_back(area.to_pixel(series.x[i], series.y[i]));
  }
  const double width = series.line_width * area.scale;
  if (series.dashed) {
    draw_dashed(canvas, stroke, 3 * width, width, series.color);
  } else {
    canvas.line(stroke, width, series.color);
  }
}

void draw(Canvas& canvas, const PlotArea& area, const Intervals& bars) {
  const double width = bars.line_width * area.scale;
  const double half_cap = 0.5 * (bars.cap_width * area.scale - width);
  for (std::size_t i = 0; i < bars.x.size(); ++i) {
    const Point low = area.to_pixel(bars.x[i], bars.low[i]);
    const Point high = area.to_pixel(bars.x[i], bars.high[i]);
    if (!std::isfinite(low.y) || !std::isfinite(high.y)) continue;
    canvas.line({low, high}, width, bars.color);
    for (const Point& end : {low, high}) {
      canvas.line({{end.x - half_cap, end.y}, {end.x + half_cap, end.y}}, width,
                  bars.color);
    }
  }
}

// One column of pixels after the other.
void draw(Canvas& canvas, const PlotArea& area, const Band& band) {
  const auto& r = area.pixels;
  std::size_t next = 1;
  for (double px = std::floor(r.left); px < r.right && next < band.x.size(); ++px) {
    const double x = mix(area.x.low, area.x.high, (px + 0.5 - r.left) / r.width());
    while (next < band.x.size() && band.x[next] < x) ++next;
    if (next == band.x.size() || x < band.x.front()) continue;
    const double share = fraction_inside({band.x[next - 1], band.x[next]}, x);
    const double low =
        area.to_pixel(x, mix(band.low[next - 1], band.low[next], share)).y;
    const double high =
        area.to_pixel(x, mix(band.high[next - 1], band.high[next], share)).y;
    if (std::isfinite(low) && std::isfinite(high)) {
      canvas.fill({px, std::min(low, high), px + 1, std::max(low, high)}, band.color,
                  band.alpha);
    }
  }
}

void require_length(std::size_t length, const char* what, std::size_t expected) {
  if (length == expected) return;
  throw InputError(fmt::format("[figure] expected as many {} as x, received {} and {}",
                               what, length, expected));
}

void check(const HeatMap& map) {
  const auto& d = map.density;
  if (d.values.size() == d.rows * d.columns) return;
  throw InputError(fmt::format("[figure] expected {} x {} densities, received {}",
                               d.rows, d.columns, d.values.size()));
}

void check(const Points& cloud) {
  require_length(cloud.y.size(), "y", cloud.x.size());
  if (!cloud.radii.empty()) require_length(cloud.radii.size(), "radii", cloud.x.size());
}

void check(const Series& series) {
  require_length(series.y.size(), "y", series.x.size());
}

void check(const Intervals& bars) {
  require_length(bars.low.size(), "low ends", bars.x.size());
  require_length(bars.high.size(), "high ends", bars.x.size());
  for (std::size_t i = 0; i < bars.x.size(); ++i) {
    if (!(bars.high[i] < bars.low[i])) continue;
    throw InputError(
        fmt::format("[figure] expected intervals from low to high, received {} to {}",
                    bars.low[i], bars.high[i]));
  }
}

void check(const Band& band) {
  require_length(band.low.size(), "low ends", band.x.size());
  require_length(band.high.size(), "high ends", band.x.size());
  if (std::is_sorted(band.x.begin(), band.x.end())) return;
  throw InputError("[figure] expected a band over ascending x, received others");
}

// Adds the x or y of a layer without a density.
void add_values(std::vector<double>& values, const PlotLayer& layer, bool is_x) {
  const auto add = [&](const std::vector<double>& more) {
    values.insert(values.end(), more.begin(), more.end());
  };
  if (const auto* bars = std::get_if<Intervals>(&layer)) {
    add(is_x ? bars->x : bars->low);
    if (!is_x) add(bars->high);
  }
  if (const auto* band = std::get_if<Band>(&layer)) {
    add(is_x ? band->x : band->low);
    if (!is_x) add(band->high);
  }
  if (const auto* cloud = std::get_if<Points>(&layer)) add(is_x ? cloud->x : cloud->y);
  if (const auto* line = std::get_if<Series>(&layer)) add(is_x ? line->x : line->y);
}

}  // namespace

Point PlotArea::to_pixel(double data_x, double data_y) const {
  return {pixels.left + fraction_inside(x, data_x) * pixels.width(),
          pixels.bottom - fraction_inside(y, data_y) * pixels.height()};
}

void check_layer(const PlotLayer& layer) {
  std::visit([](const auto& data) { check(data); }, layer);
}

Limits limits_of_layers(const std::vector<PlotLayer>& layers, bool is_x) {
  std::vector<double> values;
  for (const auto& layer : layers) {
    if (const auto* map = std::get_if<HeatMap>(&layer)) {
      return usable_limits(is_x ? map->density.x : map->density.y);
    }
    add_values(values, layer, is_x);
  }
  return limits_of(values);
}

void draw_layer(Canvas& canvas, const PlotArea& area, const PlotLayer& layer) {
  canvas.clip(area.pixels);
  std::visit([&](const auto& data) { draw(canvas, area, data); }, layer);
  canvas.unclip();
}

std::vector<PlotLayer> color_largest_groups(const std::vector<double>& x,
                                            const std::vector<double>& y,
                                            const std::vector<std::int64_t>& group,
                                            std::size_t count) {
  if (x.size() != y.size() || x.size() != group.size()) {
    throw InputError(
        fmt::format("[color_largest_groups] expected as many x, y and groups, received "
                    "{}, {} and {}",
                    x.size(), y.size(), group.size()));
  }
  std::map<std::int64_t, std::size_t> size_of_group;
  for (const std::int64_t label : group) ++size_of_group[label];
  std::vector<std::pair<std::int64_t, std::size_t>> largest;
  for (const auto& entry : size_of_group) {
    if (entry.second > 1) largest.push_back(entry);
  }
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  largest.resize(std::min(count, largest.size()));

  std::vector<Points> clouds(largest.size() + 1);
  for (auto& cloud : clouds) {
    cloud.color = kRest;
    cloud.radius = 0.8;
    cloud.alpha = 0.7;
  }
  std::map<std::int64_t, std::size_t> cloud_of_group;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    cloud_of_group[largest[i].first] = i + 1;
    clouds[i + 1].color = category_color(i);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto found = cloud_of_group.find(group[i]);
    auto& cloud = clouds[found == cloud_of_group.end() ? 0 : found->second];
    cloud.x.push_back(x[i]);
    cloud.y.push_back(y[i]);
  }
  return {clouds.begin(), clouds.end()};
}

}  // namespace kinflow
