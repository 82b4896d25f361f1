// Writes panels as elements of SVG.
#include "kinflow/report/svg_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <variant>

#include "kinflow/core/error.h"
#include "kinflow/report/color.h"

namespace kinflow {
namespace {

constexpr double kLeft = 46, kRight = 12, kTop = 40, kBottom = 36, kKey = 12;
constexpr std::size_t kHeatCells = 90;

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        // Control characters have no place in XML.
        if (static_cast<unsigned char>(c) >= 0x20) safe += c;
    }
  }
  return safe;
}

std::string hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

class PanelWriter {
 public:
  PanelWriter(const Panel& panel, const Rectangle& place, int number)
      : panel_(panel), number_(number) {
    area_ = {
        .pixels = place,
        .x = usable_limits(panel.x.value_or(limits_of_layers(panel.layers, true))),
        .y = usable_limits(panel.y.value_or(limits_of_layers(panel.layers, false)))};
  }

  std::string write() {
    const auto& box = area_.pixels;
    add("<g><clipPath id=\"panel{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"/></clipPath>\n<g clip-path=\"url(#panel{})\">\n",
        number_, box.left, box.top, box.width(), box.height(), number_);
    for (const auto& layer : panel_.layers) {
      std::visit([&](const auto& one) { draw(one); }, layer);
    }
    add("</g>\n");
    axes();
    words();
    add("</g>\n");
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  Point at(double x, double y) const { return area_.to_pixel(x, y); }

  void draw(const HeatMap& heat) {
    const auto& grid = heat.density;
    const auto columns = std::min(grid.columns, kHeatCells),
               rows = std::min(grid.rows, kHeatCells);
    const double width = (grid.x.high - grid.x.low) / static_cast<double>(columns),
                 height = (grid.y.high - grid.y.low) / static_cast<double>(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        const double value = grid.values[r * grid.rows / rows * grid.columns +
                                         c * grid.columns / columns];
        const auto color = density_color(value / heat.maximum);
        if (color == kWhite) continue;
        const auto from = at(grid.x.low + width * static_cast<double>(c),
                             grid.y.low + height * static_cast<double>(r + 1));
        const auto to = at(grid.x.low + width * static_cast<double>(c + 1),
                           grid.y.low + height * static_cast<double>(r));
        add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
            "fill=\"{}\"/>\n",
            from.x, from.y, to.x - from.x + 0.3, to.y - from.y + 0.3, hex(color));
      }
    }
  }
  void draw(const Points& points) {
    add("<g fill=\"{}\" fill-opacity=\"{:.2f}\">", hex(points.color), points.alpha);
    for (std::size_t i = 0; i < points.x.size(); ++i) {
      const auto center = at(points.x[i], points.y[i]);
      if (!std::isfinite(center.x) || !std::isfinite(center.y)) continue;
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.2g}\"/>", center.x, center.y,
          points.radii.empty() ? points.radius : points.radii[i]);
    }
    add("</g>\n");
  }
  void draw(const Series& series) {
    std::string path;
    bool is_open = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const auto point = at(series.x[i], series.y[i]);
      const bool is_there = std::isfinite(point.x) && std::isfinite(point.y);
      if (is_there) {
        path += fmt::format("{}{:.1f} {:.1f}", is_open ? 'L' : 'M', point.x,
                            std::clamp(point.y, -1e4, 1e4));
      }
      is_open = is_there;
    }
    add("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.2g}\"{}/>\n",
        path, hex(series.color), series.line_width,
        series.dashed ? " stroke-dasharray=\"4 3\"" : "");
  }
  void draw(const Intervals& bars) {
    for (std::size_t i = 0; i < bars.x.size(); ++i) {
      const auto low = at(bars.x[i], bars.low[i]), high = at(bars.x[i], bars.high[i]);
      if (!std::isfinite(low.y) || !std::isfinite(high.y)) continue;
      add("<path d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"{}\" stroke-width=\"{:.2g}\"/>\n",
          low.x, low.y, high.y, hex(bars.color), bars.line_width);
    }
  }
  void draw(const Band& band) {
    std::string path;
    for (std::size_t i = 0; i < band.x.size(); ++i) {
      const auto point = at(band.x[i], band.high[i]);
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? 'M' : 'L', point.x, point.y);
    }
    for (std::size_t i = band.x.size(); i-- > 0;) {
      const auto point = at(band.x[i], band.low[i]);
      path += fmt::format("L{:.1f} {:.1f}", point.x, point.y);
    }
    add("<path d=\"{}Z\" fill=\"{}\" fill-opacity=\"{:.2f}\"/>\n", path,
        hex(band.color), band.alpha);
  }

  void axes() {
    const auto& box = area_.pixels;
    add("<path d=\"M{:.1f} {:.1f}H{:.1f}M{:.1f} {:.1f}V{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"0.7\" fill=\"none\"/>\n",
        box.left, box.bottom, box.right, box.left, box.bottom, box.top, hex(kFaintInk));
    const auto x = panel_.x_ticks ? *panel_.x_ticks : nice_ticks(area_.x, 6);
    double last = -1e9;
    for (std::size_t i = 0; i < x.positions.size(); ++i) {
      const double place = at(x.positions[i], area_.y.low).x;
      if (place < box.left - 0.5 || place > box.right + 0.5) continue;
      if (place - last < 5.0 * static_cast<double>(x.labels[i].size()) + 3) continue;
      last = place;
      label(place, box.bottom + 11, x.labels[i], "middle", 8, kFaintInk);
    }
    const auto y = nice_ticks(area_.y, 6);
    for (std::size_t i = 0; i < y.positions.size(); ++i) {
      const double place = at(area_.x.low, y.positions[i]).y;
      if (panel_.tick_labels_y) {
        label(box.left - 4, place + 3, y.labels[i], "end", 8, kFaintInk);
      }
    }
  }
  void words() {
    const auto& box = area_.pixels;
    label(box.left, box.top - 24, panel_.title, "start", 10, kInk, true);
    label(box.left, box.top - 13, panel_.subtitle, "start", 8, kFaintInk);
    label(box.left - 38, box.top - 4, panel_.y_label, "start", 8, kFaintInk);
    label(box.right, box.bottom + 23, panel_.x_label, "end", 8, kFaintInk);
    double place = box.left;
    for (const auto& layer : panel_.layers) {
      std::visit(
          [&](const auto& one) {
            if constexpr (requires { one.name; }) {
              if (one.name.empty()) return;
              add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"6\" height=\"6\" "
                  "fill=\"{}\"/>\n",
                  place, box.bottom + 26, hex(one.color));
              label(place + 9, box.bottom + 32, one.name, "start", 8, kInk);
              place += 20 + 4.6 * static_cast<double>(one.name.size());
            }
          },
          layer);
    }
  }
  void label(double x, double y, const std::string& text, const char* anchor,
             double size, Color color, bool is_bold = false) {
    if (text.empty()) return;
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" "
        "fill=\"{}\"{}>{}</text>\n",
        x, y, anchor, size, hex(color), is_bold ? " font-weight=\"600\"" : "",
        escaped(text));
  }

  const Panel& panel_;
  int number_;
  PlotArea area_;
  std::string text_;
};

}  // namespace

std::string svg_figure(const std::vector<Panel>& panels, const FigureOptions& options) {
  if (panels.empty())
    throw InputError("figure: expected at least one panel, found none");
  for (const auto& panel : panels) {
    for (const auto& layer : panel.layers) check_layer(layer);
  }
  const int columns =
      std::min(std::max(options.columns, 1), static_cast<int>(panels.size()));
  const int rows = (static_cast<int>(panels.size()) + columns - 1) / columns;
  const double cell_width = kLeft + options.panel_width + kRight,
               cell_height = kTop + options.panel_height + kBottom + kKey;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}pt\" "
      "height=\"{1:.0f}pt\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"system-ui, "
      "'Noto Sans', 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n<rect "
      "width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      cell_width * columns, cell_height * rows);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto column = static_cast<int>(i) % columns,
               row = static_cast<int>(i) / columns;
    const double left = cell_width * column + kLeft, top = cell_height * row + kTop;
    text += PanelWriter(panels[i],
                        {.left = left,
                         .top = top,
                         .right = left + options.panel_width,
                         .bottom = top + options.panel_height},
                        static_cast<int>(i))
                .write();
  }
  return text + "</svg>\n";
}

}  // namespace kinflow
