// Limits and ticks of an axis.
#pragma once

#include <string>
#include <vector>

namespace kinflow {

/// The ends of an axis.
struct Limits {
  double low = 0;
  double high = 1;
};

/// Where the ticks of an axis are, and their labels with equal numbers of decimals.
struct Ticks {
  std::vector<double> positions;
  std::vector<std::string> labels;
};

/// Limits that can be drawn: finite, ascending and apart. Equal ones get room at both
/// sides; 0 to 1 stands for those that are not finite.
Limits usable_limits(Limits limits);

/// The smallest limits around the finite values, widened by `margin` of their distance
/// at both ends, and usable.
Limits limits_of(const std::vector<double>& values, double margin = 0.04);

/// Ticks at multiples of 1, 2 or 5 times a power of ten inside the usable limits, at
/// most `most` (1 or more) of them.
Ticks nice_ticks(Limits limits, int most);

}  // namespace kinflow
