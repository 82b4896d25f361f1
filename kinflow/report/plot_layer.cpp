// Drawing of densities, points, lines and legends.
#include "kinflow/report/plot_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
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
    canvas.disc(area.to_pixel(cloud.x[i], cloud.y[i]), cloud.radius * area.scale,
                cloud.color, cloud.alpha);
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

void draw_stroke(Canvas& canvas, const Stroke& stroke, const Series& series,
                 double scale) {
  const double width = series.line_width * scale;
  if (series.dashed) {
    draw_dashed(canvas, stroke, 3 * width, width, series.color);
  } else {
    canvas.line(stroke, width, series.color);
  }
}

void draw(Canvas& canvas, const PlotArea& area, const Series& series) {
  Stroke stroke;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    stroke.push_back(area.to_pixel(series.x[i], series.y[i]));
  }
  draw_stroke(canvas, stroke, series, area.scale);
}

// Calls a function with the layer where it holds points or a line.
template <typename Function>
void with_data(const PlotLayer& layer, Function function) {
  if (const auto* cloud = std::get_if<Points>(&layer)) function(*cloud);
  if (const auto* series = std::get_if<Series>(&layer)) function(*series);
}

std::size_t data_inside(const PlotArea& area, const std::vector<PlotLayer>& layers,
                        const Rectangle& box) {
  std::size_t count = 0;
  for (const auto& layer : layers) {
    with_data(layer, [&](const auto& data) {
      for (std::size_t i = 0; i < data.x.size(); ++i) {
        const Point p = area.to_pixel(data.x[i], data.y[i]);
        count +=
            p.x >= box.left && p.x <= box.right && p.y >= box.top && p.y <= box.bottom;
      }
    });
  }
  return count;
}

Rectangle emptiest_corner(const PlotArea& area, const std::vector<PlotLayer>& layers,
                          double width, double height) {
  const auto& r = area.pixels;
  const double gap = 4 * area.scale;
  Rectangle best{};
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const double top : {r.top + gap, r.bottom - gap - height}) {
    for (const double left : {r.right - gap - width, r.left + gap}) {
      const Rectangle corner{left, top, left + width, top + height};
      const std::size_t inside = data_inside(area, layers, corner);
      if (inside < fewest) {
        fewest = inside;
        best = corner;
      }
    }
  }
  return best;
}

}  // namespace

Point PlotArea::to_pixel(double data_x, double data_y) const {
  return {pixels.left + fraction_inside(x, data_x) * pixels.width(),
          pixels.bottom - fraction_inside(y, data_y) * pixels.height()};
}

void check_layer(const PlotLayer& layer) {
  if (const auto* map = std::get_if<HeatMap>(&layer)) {
    const auto& d = map->density;
    if (d.values.size() != d.rows * d.columns) {
      throw InputError(fmt::format("[figure] expected {} x {} densities, received {}",
                                   d.rows, d.columns, d.values.size()));
    }
  }
  with_data(layer, [](const auto& data) {
    if (data.x.size() != data.y.size()) {
      throw InputError(
          fmt::format("[figure] expected as many x as y, received {} and {}",
                      data.x.size(), data.y.size()));
    }
  });
}

Limits limits_of_layers(const std::vector<PlotLayer>& layers, bool is_x) {
  std::vector<double> values;
  for (const auto& layer : layers) {
    if (const auto* map = std::get_if<HeatMap>(&layer)) {
      return usable_limits(is_x ? map->density.x : map->density.y);
    }
    with_data(layer, [&](const auto& data) {
      const auto& more = is_x ? data.x : data.y;
      values.insert(values.end(), more.begin(), more.end());
    });
  }
  return limits_of(values);
}

void draw_layer(Canvas& canvas, const PlotArea& area, const PlotLayer& layer) {
  canvas.clip(area.pixels);
  std::visit([&](const auto& data) { draw(canvas, area, data); }, layer);
  canvas.unclip();
}

void draw_legend(Canvas& canvas, const PlotArea& area,
                 const std::vector<PlotLayer>& layers, double text_size) {
  const TextStyle style{.size = text_size * area.scale};
  const double row = 1.4 * style.size, key = 1.6 * style.size, gap = 0.4 * style.size;
  double width = 0, rows = 0;
  for (const auto& layer : layers) {
    with_data(layer, [&](const auto& data) {
      if (data.name.empty()) return;
      width = std::max(width, text_width(data.name, style));
      ++rows;
    });
  }
  if (rows == 0) return;
  const Rectangle box =
      emptiest_corner(area, layers, width + key + 3 * gap, rows * row + gap);
  canvas.clip(area.pixels);
  canvas.fill(box, kWhite, 0.85);
  const double x = box.left + gap;
  double y = box.top + (gap + row) / 2;
  for (const auto& layer : layers) {
    with_data(layer, [&](const auto& data) {
      if (data.name.empty()) return;
      if (const auto* series = std::get_if<Series>(&layer)) {
        draw_stroke(canvas, {{x, y}, {x + key, y}}, *series, area.scale);
      } else {
        canvas.disc({x + key / 2, y}, 0.25 * style.size, data.color);
      }
      const double half_capital = style.size * kFontCapHeight / kFontUnitsPerEm / 2;
      canvas.text({x + key + gap, y + half_capital}, data.name, style);
      y += row;
    });
  }
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
