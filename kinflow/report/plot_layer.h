// What can be drawn inside the axes of a panel: densities, points, lines, error bars
// and bands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kinflow/report/axis.h"
#include "kinflow/report/canvas.h"

namespace kinflow {

/// Densities on a regular grid. Value [i, j], stored at i * columns + j, belongs to the
/// centre of cell j of `columns` equal cells of x and cell i of `rows` equal cells of y
/// (from the low end).
struct DensityGrid {
  Limits x{};
  Limits y{};
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values{};  ///< [rows, columns]
};

/// A density drawn in density_color(), interpolated between cells.
struct HeatMap {
  DensityGrid density{};
  double maximum = 1;  ///< the density of the darkest colour
};

/// A cloud of points; those that are not finite are left out.
struct Points {
  std::string name{};  ///< in the legend; empty: not there
  std::vector<double> x{};
  std::vector<double> y{};  ///< as many as x
  Color color = kInk;
  double radius = 1;            ///< in points of the figure
  std::vector<double> radii{};  ///< as many as x, in place of `radius`; or empty
  double alpha = 1;
};

/// A line through points in their order, broken where one is not finite.
struct Series {
  std::string name{};  ///< in the legend; empty: not there
  std::vector<double> x{};
  std::vector<double> y{};  ///< as many as x
  Color color = kInk;
  double line_width = 1.2;  ///< in points of the figure
  bool dashed = false;
};

/// Vertical bars with caps, e.g. standard errors; those that are not finite are left
/// out.
struct Intervals {
  std::string name{};  ///< in the legend; empty: not there
  std::vector<double> x{};
  std::vector<double> low{};   ///< as many as x
  std::vector<double> high{};  ///< as many as x, none below its `low`
  Color color = kInk;
  double line_width = 0.9;  ///< in points of the figure
  double cap_width = 5;     ///< from end to end, in points of the figure
};

/// The area between two lines over the same x, e.g. where chance puts a curve.
struct Band {
  std::string name{};          ///< in the legend; empty: not there
  std::vector<double> x{};     ///< ascending
  std::vector<double> low{};   ///< as many as x
  std::vector<double> high{};  ///< as many as x
  Color color = kRest;
  double alpha = 0.5;
};

using PlotLayer = std::variant<HeatMap, Points, Series, Intervals, Band>;

/// Where a panel's data go on the canvas.
struct PlotArea {
  Rectangle pixels{};
  Limits x{};
  Limits y{};
  double scale = 1;  ///< pixels per point

  Point to_pixel(double data_x, double data_y) const;
};

/// InputError where the vectors of the layer differ in length, an interval ends below
/// its beginning, or the x of a band do not ascend.
void check_layer(const PlotLayer& layer);

/// Limits of the layers' x (or y): those of the first density, else of all finite data
/// with a small margin.
Limits limits_of_layers(const std::vector<PlotLayer>& layers, bool is_x);

/// Draws one layer, clipped to the area.
void draw_layer(Canvas& canvas, const PlotArea& area, const PlotLayer& layer);

/// The rows of the `count` largest groups (of at least two rows) in category colours,
/// the largest first, above all other rows in grey.
/// @param group  the label of each point; as many as x and y, else InputError
std::vector<PlotLayer> color_largest_groups(const std::vector<double>& x,
                                            const std::vector<double>& y,
                                            const std::vector<std::int64_t>& group,
                                            std::size_t count = kCategoryColors);

}  // namespace kinflow
