// Leaves out points that would be drawn over others.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kinflow/report/axis.h"

namespace kinflow {

/// Takes the first of all points that fall on the same cell of a grid, so that millions
/// of points become as many as a picture can show.
class PointThinner {
 public:
  /// @param columns, rows  of the grid between the limits: pixels or finer
  PointThinner(Limits x, Limits y, std::size_t columns, std::size_t rows)
      : x_(x),
        y_(y),
        columns_(columns),
        rows_(rows),
        is_taken_(columns * rows, false) {}

  /// True for the first point of its cell; false for one that is not finite or outside.
  bool takes(double x, double y) {
    const double column = cell(x_, x, columns_), row = cell(y_, y, rows_);
    if (!(column >= 0 && row >= 0)) return false;
    auto taken = is_taken_[static_cast<std::size_t>(row) * columns_ +
                           static_cast<std::size_t>(column)];
    if (taken) return false;
    return taken = true;
  }

 private:
  // -1 outside.
  static double cell(Limits limits, double value, std::size_t cells) {
    const double share = (value - limits.low) / (limits.high - limits.low);
    const auto count = static_cast<double>(cells);
    if (!(share >= 0 && share <= 1)) return -1;
    return std::fmin(std::floor(share * count), count - 1);
  }

  Limits x_, y_;
  std::size_t columns_, rows_;
  std::vector<bool> is_taken_;
};

}  // namespace kinflow
