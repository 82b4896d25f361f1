// What tests look for in a picture: colours, their extent, and the frames of plots.
#pragma once

#include <algorithm>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// The pixels of one colour in a part of a picture.
struct Extent {
  int count = 0;
  Rectangle box{};  ///< around them; right and bottom excluded
};

inline Extent extent_of(const Canvas& canvas, Color color, const Rectangle& part) {
  Extent extent{0, {part.right, part.bottom, part.left, part.top}};
  for (int y = static_cast<int>(part.top); y < part.bottom; ++y) {
    for (int x = static_cast<int>(part.left); x < part.right; ++x) {
      if (canvas.pixel(x, y) != color) continue;
      ++extent.count;
      extent.box.left = std::min<double>(extent.box.left, x);
      extent.box.top = std::min<double>(extent.box.top, y);
      extent.box.right = std::max<double>(extent.box.right, x + 1);
      extent.box.bottom = std::max<double>(extent.box.bottom, y + 1);
    }
  }
  return extent;
}

inline Rectangle whole(const Canvas& canvas) {
  return {0, 0, static_cast<double>(canvas.width()),
          static_cast<double>(canvas.height())};
}

inline bool shows(const Canvas& canvas, Color color) {
  return extent_of(canvas, color, whole(canvas)).count > 0;
}

/// The plots of a figure with one row of panels, from left to right, frames included:
/// between its first and last row with long horizontal lines.
inline std::vector<Rectangle> find_plots(const Canvas& canvas) {
  constexpr int kLongLine = 100;
  std::vector<Rectangle> plots;
  bool is_first = true;
  for (int y = 0; y < canvas.height(); ++y) {
    bool has_line = false;
    for (int x = 0, start = 0; x <= canvas.width(); ++x) {
      if (x < canvas.width() && canvas.pixel(x, y) == kInk) continue;
      if (x - start >= kLongLine) {
        has_line = true;
        if (is_first) plots.push_back({double(start), double(y), double(x), double(y)});
      }
      start = x + 1;
    }
    if (!has_line) continue;
    is_first = false;
    for (auto& plot : plots) plot.bottom = y + 1;
  }
  return plots;
}

}  // namespace kinflow
