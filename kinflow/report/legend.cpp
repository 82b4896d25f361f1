// Finds the corner for a legend and draws its entries.
#include "kinflow/report/legend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <variant>

namespace kinflow {
namespace {

std::string name_of(const PlotLayer& layer) {
  if (const auto* cloud = std::get_if<Points>(&layer)) return cloud->name;
  if (const auto* line = std::get_if<Series>(&layer)) return line->name;
  if (const auto* bars = std::get_if<Intervals>(&layer)) return bars->name;
  if (const auto* band = std::get_if<Band>(&layer)) return band->name;
  return {};
}

std::vector<std::string> names_of(const std::vector<PlotLayer>& layers) {
  std::vector<std::string> names;
  for (const auto& layer : layers) {
    const std::string name = name_of(layer);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

// Whether a straight line between two points meets a rectangle (Liang and Barsky).
bool meets(const Rectangle& box, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  if (!std::isfinite(dx) || !std::isfinite(dy)) return false;
  double enters = 0, leaves = 1;
  // Keeps the part of the way on which its distance to a side is not negative.
  const auto keep = [&](double distance, double growth) {
    if (growth > 0) enters = std::max(enters, -distance / growth);
    if (growth < 0) leaves = std::min(leaves, -distance / growth);
    return growth != 0 || distance >= 0;
  };
  return keep(a.x - box.left, dx) && keep(box.right - a.x, -dx) &&
         keep(a.y - box.top, dy) && keep(box.bottom - a.y, -dy) && enters <= leaves;
}

std::size_t data_inside(const PlotArea& area, const PlotLayer& layer,
                        const Rectangle& box) {
  std::size_t count = 0;
  if (const auto* cloud = std::get_if<Points>(&layer)) {
    for (std::size_t i = 0; i < cloud->x.size(); ++i) {
      const Point p = area.to_pixel(cloud->x[i], cloud->y[i]);
      count += meets(box, p, p);
    }
  }
  if (const auto* line = std::get_if<Series>(&layer)) {
    for (std::size_t i = 1; i < line->x.size(); ++i) {
      count += meets(box, area.to_pixel(line->x[i - 1], line->y[i - 1]),
                     area.to_pixel(line->x[i], line->y[i]));
    }
  }
  if (const auto* bars = std::get_if<Intervals>(&layer)) {
    for (std::size_t i = 0; i < bars->x.size(); ++i) {
      count += meets(box, area.to_pixel(bars->x[i], bars->low[i]),
                     area.to_pixel(bars->x[i], bars->high[i]));
    }
  }
  if (const auto* band = std::get_if<Band>(&layer)) {
    for (std::size_t i = 1; i < band->x.size(); ++i) {
      for (const auto& edge : {band->low, band->high}) {
        count += meets(box, area.to_pixel(band->x[i - 1], edge[i - 1]),
                       area.to_pixel(band->x[i], edge[i]));
      }
    }
  }
  return count;
}

// Sizes in pixels, and the place.
struct LegendLayout {
  TextStyle style;
  double row, key, gap;
  Rectangle box;
  std::size_t hidden_data;  // or nearly hidden: closer than the box to the frame
};

LegendLayout lay_out(const PlotArea& area, const std::vector<PlotLayer>& layers,
                     const std::vector<std::string>& names, double text_size) {
  LegendLayout layout{};
  layout.style.size = text_size * area.scale;
  layout.row = 1.4 * layout.style.size;
  layout.key = 1.6 * layout.style.size;
  layout.gap = 0.4 * layout.style.size;
  double width = 0;
  for (const auto& name : names) {
    width = std::max(width, text_width(name, layout.style));
  }
  width += layout.key + 3 * layout.gap;
  const double height = static_cast<double>(names.size()) * layout.row + layout.gap;

  const auto& r = area.pixels;
  const double margin = 4 * area.scale;
  layout.hidden_data = std::numeric_limits<std::size_t>::max();
  for (const double top : {r.top + margin, r.bottom - margin - height}) {
    for (const double left : {r.right - margin - width, r.left + margin}) {
      const Rectangle corner{left, top, left + width, top + height};
      const Rectangle around{corner.left - margin, corner.top - margin,
                             corner.right + margin, corner.bottom + margin};
      std::size_t inside = 0;
      for (const auto& layer : layers) inside += data_inside(area, layer, around);
      if (inside < layout.hidden_data) {
        layout.hidden_data = inside;
        layout.box = corner;
      }
    }
  }
  return layout;
}

// The layer as a sample of itself that fills an area from 0 to 1.
PlotLayer sample_of(PlotLayer layer, double point_radius) {
  if (auto* cloud = std::get_if<Points>(&layer)) {
    cloud->x = cloud->y = {0.5};
    cloud->radii.clear();
    cloud->radius = point_radius;
    cloud->alpha = 1;
  }
  if (auto* line = std::get_if<Series>(&layer)) {
    line->x = {0, 1};
    line->y = {0.5, 0.5};
  }
  if (auto* bars = std::get_if<Intervals>(&layer)) {
    bars->x = {0.5};
    bars->low = {0.1};
    bars->high = {0.9};
  }
  if (auto* band = std::get_if<Band>(&layer)) {
    band->x = {0, 1};
    band->low = {0.2, 0.2};
    band->high = {0.8, 0.8};
  }
  return layer;
}

}  // namespace

bool legend_is_clear(const PlotArea& area, const std::vector<PlotLayer>& layers,
                     double text_size) {
  const auto names = names_of(layers);
  return names.empty() || lay_out(area, layers, names, text_size).hidden_data == 0;
}

void draw_legend(Canvas& canvas, const PlotArea& area,
                 const std::vector<PlotLayer>& layers, double text_size) {
  const auto names = names_of(layers);
  if (names.empty()) return;
  const LegendLayout layout = lay_out(area, layers, names, text_size);
  canvas.clip(area.pixels);
  canvas.fill(layout.box, kWhite, 0.85);
  canvas.unclip();
  const double half_capital = layout.style.size * kFontCapHeight / kFontUnitsPerEm / 2;
  const double left = layout.box.left + layout.gap;
  double top = layout.box.top + layout.gap / 2;
  for (const auto& name : names) {
    const PlotArea key{
        {left, top, left + layout.key, top + layout.row}, {}, {}, area.scale};
    for (const auto& layer : layers) {
      if (name_of(layer) != name) continue;
      draw_layer(canvas, key, sample_of(layer, 0.25 * text_size));
    }
    canvas.clip(area.pixels);
    canvas.text({key.pixels.right + layout.gap, top + layout.row / 2 + half_capital},
                name, layout.style);
    canvas.unclip();
    top += layout.row;
  }
}

}  // namespace kinflow
