// Layout of panels, and drawing of their axes, titles and colour bar.
#include "kinflow/report/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "kinflow/core/error.h"
#include "kinflow/report/legend.h"

namespace kinflow {
namespace {

// Sizes in points.
constexpr double kMargin = 6;
constexpr double kPanelGap = 13;
constexpr double kTitleSize = 11;
constexpr double kSubtitleSize = 9;
constexpr double kLabelSize = 9.5;
constexpr double kTickLabelSize = 8.5;
constexpr double kTickLength = 3;
constexpr double kTickGap = 2.5;
constexpr double kLineWidth = 0.5;
constexpr double kTitleGap = 6;
constexpr double kColorBarWidth = 7;
constexpr double kHeightPerTick = 24;
constexpr double kWidthPerTick = 28;

// Font heights in parts of the text size.
constexpr double kCapHeight = kFontCapHeight / kFontUnitsPerEm;

// Round numbers, with minus signs as wide as digits in place of hyphens.
Ticks number_ticks(Limits limits, int most) {
  Ticks ticks = nice_ticks(limits, most);
  for (auto& label : ticks.labels) {
    for (std::size_t at = 0; (at = label.find('-', at)) != std::string::npos; ++at) {
      label.replace(at, 1, "\u2212");
    }
  }
  return ticks;
}

double widest(const std::vector<std::string>& labels, double size) {
  double width = 0;
  for (const auto& label : labels) {
    width = std::max(width, text_width(label, {.size = size}));
  }
  return width;
}

// A panel's limits and ticks, and the room that its labels need, in points.
struct Axes {
  Limits x, y;
  Ticks x_ticks, y_ticks;
  double y_label_distance;  // from the plot to the baseline of the y label
  double room_left, room_right, room_top, room_below;
};

// Limits of the layers' y, raised at the top until the legend hides no data.
Limits limits_with_legend(const Panel& panel, Limits x, const FigureOptions& options) {
  constexpr int kMostSteps = 20;
  constexpr double kStep = 0.05;
  const Limits tight = usable_limits(limits_of_layers(panel.layers, false));
  const double step = kStep * (tight.high - tight.low);
  for (const auto& layer : panel.layers) {
    if (std::holds_alternative<HeatMap>(layer)) return tight;
  }
  PlotArea area{{0, 0, options.panel_width, options.panel_height}, x, tight, 1};
  for (int i = 0; i <= kMostSteps; ++i) {
    if (legend_is_clear(area, panel.layers, kTickLabelSize)) return area.y;
    area.y.high += step;
  }
  return tight;
}

// Empties the labels that would touch the one to their left.
void drop_crowded_labels(Ticks& ticks, double points_per_unit) {
  double free_from = -HUGE_VAL;
  for (std::size_t i = 0; i < ticks.labels.size(); ++i) {
    const double width = text_width(ticks.labels[i], {.size = kTickLabelSize});
    const double middle = ticks.positions[i] * points_per_unit;
    if (middle - width / 2 < free_from) {
      ticks.labels[i].clear();
    } else {
      free_from = middle + width / 2 + kTickGap / 2;
    }
  }
}

// The given ticks inside the limits, or as many round numbers as have room.
Ticks x_ticks_of(const Panel& panel, Limits x, double width) {
  if (panel.x_ticks) {
    const auto& [positions, labels] = *panel.x_ticks;
    if (positions.size() != labels.size()) {
      throw InputError(fmt::format(
          "[draw_figure] expected a label for every tick, received {} ticks "
          "and {} labels",
          positions.size(), labels.size()));
    }
    Ticks inside;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (!(positions[i] >= x.low && positions[i] <= x.high)) continue;
      inside.positions.push_back(positions[i]);
      inside.labels.push_back(labels[i]);
    }
    drop_crowded_labels(inside, width / (x.high - x.low));
    return inside;
  }
  for (int most = static_cast<int>(width / kWidthPerTick);; --most) {
    Ticks ticks = number_ticks(x, most);
    const double room = widest(ticks.labels, kTickLabelSize) + 2 * kTickGap;
    const auto count = static_cast<double>(ticks.labels.size());
    if (most <= 1 || count * room < width) return ticks;
  }
}

Axes make_axes(const Panel& panel, const FigureOptions& options) {
  for (const auto& layer : panel.layers) check_layer(layer);
  Axes axes{};
  axes.x = usable_limits(panel.x.value_or(limits_of_layers(panel.layers, true)));
  axes.y =
      panel.y ? usable_limits(*panel.y) : limits_with_legend(panel, axes.x, options);
  axes.y_ticks =
      number_ticks(axes.y, static_cast<int>(options.panel_height / kHeightPerTick));
  axes.x_ticks = x_ticks_of(panel, axes.x, options.panel_width);
  const double labels_y =
      panel.tick_labels_y ? widest(axes.y_ticks.labels, kTickLabelSize) + kTickGap : 0;
  axes.y_label_distance = kTickLength + labels_y + 2 * kTickGap;
  axes.room_left = panel.y_label.empty()
                       ? axes.y_label_distance - kTickGap
                       : axes.y_label_distance + kLabelSize * kCapHeight;
  axes.room_right = widest(axes.x_ticks.labels, kTickLabelSize) / 2;
  axes.room_top = (panel.title.empty() ? 0 : kTitleGap + kTitleSize) +
                  (panel.subtitle.empty() ? 0 : kTitleGap + kSubtitleSize * kCapHeight);
  axes.room_below = kTickLength + kTickGap + kTickLabelSize +
                    (panel.x_label.empty() ? 0 : kTickGap + kLabelSize);
  return axes;
}

// Draws titles, axes and the colour bar; lengths are in points times `scale`.
class Painter {
 public:
  Painter(Canvas& canvas, double scale) : canvas_(canvas), scale_(scale) {}

  void panel(const Panel& panel, const Axes& axes, const Rectangle& plot) {
    const PlotArea area{plot, axes.x, axes.y, scale_};
    for (const auto& layer : panel.layers) draw_layer(canvas_, area, layer);
    draw_legend(canvas_, area, panel.layers, kTickLabelSize);
    canvas_.frame(plot, line_width(), kInk);
    ticks(panel, axes, area);

    const double top = plot.top - kTitleGap * scale_, middle_x = middle(plot).x;
    const double subtitle =
        panel.subtitle.empty() ? 0 : (kTitleGap + kSubtitleSize * kCapHeight) * scale_;
    fitted({plot.left, top - subtitle}, panel.title,
           {.size = kTitleSize * scale_, .bold = true}, plot.width());
    fitted({plot.left, top}, panel.subtitle,
           {.size = kSubtitleSize * scale_, .color = kFaintInk}, plot.width());
    const double below = axes.room_below - kLabelSize * (1 - kCapHeight);
    canvas_.text({middle_x, plot.bottom + below * scale_}, panel.x_label,
                 style(kLabelSize, kInk, 0.5));
    upwards({plot.left - axes.y_label_distance * scale_, middle(plot).y},
            panel.y_label);
  }

  // Room that color_bar() needs to the right of the last panel, in points.
  static double color_bar_room(const Ticks& ticks) {
    return kPanelGap + kColorBarWidth + kTickLength + kTickGap +
           widest(ticks.labels, kTickLabelSize) + kTickGap + kLabelSize;
  }

  void color_bar(const ColorBar& bar, const Ticks& ticks, const Rectangle& beside) {
    const double left = beside.right + kPanelGap * scale_;
    const Rectangle box{left, beside.top, left + kColorBarWidth * scale_,
                        beside.bottom};
    for (double y = box.top; y < box.bottom; ++y) {
      const double fraction = (box.bottom - y - 0.5) / box.height();
      canvas_.fill({box.left, y, box.right, y + 1}, density_color(fraction));
    }
    canvas_.frame(box, line_width(), kInk);
    const PlotArea area{box, {}, usable_limits({0, bar.maximum}), scale_};
    for (std::size_t i = 0; i < ticks.positions.size(); ++i) {
      const double y = area.to_pixel(0, ticks.positions[i]).y;
      horizontal_tick(box.right, y);
      canvas_.text({box.right + (kTickLength + kTickGap) * scale_, centered(y)},
                   ticks.labels[i], style(kTickLabelSize, kFaintInk, 0));
    }
    const double distance = color_bar_room(ticks) - kPanelGap - kColorBarWidth;
    upwards({box.right + distance * scale_, middle(box).y}, bar.label);
  }

 private:
  static Point middle(const Rectangle& r) {
    return {(r.left + r.right) / 2, (r.top + r.bottom) / 2};
  }

  double line_width() const { return std::max(1.0, std::round(kLineWidth * scale_)); }

  // The baseline of a tick label whose middle is at y.
  double centered(double y) const {
    return y + kTickLabelSize * kCapHeight / 2 * scale_;
  }

  TextStyle style(double size, Color color, double anchor) const {
    return {.size = size * scale_, .color = color, .anchor = anchor};
  }

  void upwards(Point center, const std::string& text) {
    TextStyle turned = style(kLabelSize, kInk, 0.5);
    turned.upwards = true;
    canvas_.text(center, text, turned);
  }

  // Text made smaller where it would be wider than the room.
  void fitted(Point baseline, const std::string& text, TextStyle wanted, double room) {
    const double width = text_width(text, wanted);
    if (width > room) wanted.size *= room / width;
    canvas_.text(baseline, text, wanted);
  }

  void horizontal_tick(double left, double y) {
    const double top = std::round(y - line_width() / 2);
    canvas_.fill({left, top, left + kTickLength * scale_, top + line_width()}, kInk);
  }

  void ticks(const Panel& panel, const Axes& axes, const PlotArea& area) {
    const auto& plot = area.pixels;
    const double length = kTickLength * scale_, gap = kTickGap * scale_;
    for (std::size_t i = 0; i < axes.x_ticks.positions.size(); ++i) {
      const double x = area.to_pixel(axes.x_ticks.positions[i], 0).x;
      const double left = std::round(x - line_width() / 2);
      canvas_.fill({left, plot.bottom, left + line_width(), plot.bottom + length},
                   kInk);
      const double baseline =
          plot.bottom + length + gap + kTickLabelSize * kCapHeight * scale_;
      canvas_.text({x, baseline}, axes.x_ticks.labels[i],
                   style(kTickLabelSize, kFaintInk, 0.5));
    }
    for (std::size_t i = 0; i < axes.y_ticks.positions.size(); ++i) {
      const double y = area.to_pixel(0, axes.y_ticks.positions[i]).y;
      horizontal_tick(plot.left - length, y);
      if (!panel.tick_labels_y) continue;
      canvas_.text({plot.left - length - gap, centered(y)}, axes.y_ticks.labels[i],
                   style(kTickLabelSize, kFaintInk, 1));
    }
  }

  Canvas& canvas_;
  double scale_;
};

}  // namespace

Canvas draw_figure(const std::vector<Panel>& panels, const FigureOptions& options) {
  if (panels.empty()) throw InputError("[draw_figure] expected a panel, received none");
  const double scale = options.scale;
  const bool sizes_valid = options.columns > 0 && scale > 0 && scale <= 16 &&
                           options.panel_width >= 20 && options.panel_width <= 5000 &&
                           options.panel_height >= 20 && options.panel_height <= 5000;
  if (!sizes_valid) {
    throw InputError(fmt::format(
        "[draw_figure] expected at least one column, panels of 20 to 5000 "
        "points and a scale up to 16, received {} columns, {} x {} points and "
        "scale {}",
        options.columns, options.panel_width, options.panel_height, scale));
  }
  const std::size_t columns =
      std::min(static_cast<std::size_t>(options.columns), panels.size());
  const std::size_t rows = (panels.size() + columns - 1) / columns;

  std::vector<Axes> axes;
  std::vector<double> room_left(columns, 0), room_top(rows, 0), room_below(rows, 0);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    axes.push_back(make_axes(panels[i], options));
    auto& left = room_left[i % columns];
    auto& top = room_top[i / columns];
    auto& below = room_below[i / columns];
    left = std::max(left, axes[i].room_left + (i % columns > 0 ? kPanelGap : 0));
    top = std::max(top, axes[i].room_top);
    below = std::max(below, axes[i].room_below);
  }
  const auto sum = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0);
  };
  const auto column_count = static_cast<double>(columns);
  const auto row_count = static_cast<double>(rows);
  Ticks bar_ticks;
  double room_right = 0;
  for (std::size_t i = columns - 1; i < panels.size(); i += columns) {
    room_right = std::max(room_right, axes[i].room_right);
  }
  if (options.color_bar) {
    bar_ticks = number_ticks({0, options.color_bar->maximum},
                             static_cast<int>(options.panel_height / kHeightPerTick));
    room_right = std::max(room_right, Painter::color_bar_room(bar_ticks));
  }
  const double width =
      2 * kMargin + sum(room_left) + column_count * options.panel_width + room_right;
  const double height = 2 * kMargin + sum(room_top) + sum(room_below) +
                        row_count * options.panel_height + (row_count - 1) * kPanelGap;
  Canvas canvas(static_cast<int>(std::min(std::ceil(width * scale), 1e6)),
                static_cast<int>(std::min(std::ceil(height * scale), 1e6)));

  Painter painter(canvas, scale);
  double y = kMargin;
  for (std::size_t row = 0; row < rows; ++row) {
    double x = kMargin;
    y += room_top[row];
    for (std::size_t column = 0; column < columns; ++column) {
      x += room_left[column];
      const std::size_t i = row * columns + column;
      const double left = std::round(x * scale), top = std::round(y * scale);
      const Rectangle plot{left, top, left + std::round(options.panel_width * scale),
                           top + std::round(options.panel_height * scale)};
      if (i < panels.size()) painter.panel(panels[i], axes[i], plot);
      x += options.panel_width;
      if (row == 0 && column + 1 == columns && options.color_bar) {
        painter.color_bar(*options.color_bar, bar_ticks, plot);
      }
    }
    y += options.panel_height + room_below[row] + kPanelGap;
  }
  return canvas;
}

}  // namespace kinflow
