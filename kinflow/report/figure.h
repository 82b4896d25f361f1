// Figures: panels in a grid, each with axes, titles and layers of data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kinflow/report/axis.h"
#include "kinflow/report/canvas.h"
#include "kinflow/report/plot_layer.h"

namespace kinflow {

/// One plot. Limits that are not given are those of the layers, and leave room for the
/// legend where there is no density.
struct Panel {
  std::string title{};
  std::string subtitle{};
  std::string x_label{};
  std::string y_label{};
  std::optional<Limits> x{};
  std::optional<Limits> y{};
  /// E.g. names of categories, ascending; a label without room is left out. Else round
  /// numbers.
  std::optional<Ticks> x_ticks{};
  std::vector<PlotLayer> layers{};  ///< the first lies at the bottom
  bool tick_labels_y = true;  ///< off where the panel to the left has the same axis
};

/// A bar at the right side that explains density_color() from 0 to `maximum`.
struct ColorBar {
  std::string label{};
  double maximum = 1;
};

/// Sizes are in points; `scale` pixels are one point.
struct FigureOptions {
  int columns = 4;
  double panel_width = 165;  ///< of the plot itself, without labels
  double panel_height = 150;
  double scale = 2;
  std::optional<ColorBar> color_bar{};
};

/// Draws the panels from left to right, then downwards. InputError where there is no
/// panel, a layer or ticks are refused by their checks, or the picture would be too
/// large.
Canvas draw_figure(const std::vector<Panel>& panels, const FigureOptions& options = {});

}  // namespace kinflow
