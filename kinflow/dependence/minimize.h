// Local minima of smooth functions of many variables without bounds.
#pragma once

#include <functional>
#include <vector>

namespace kinflow {

/// The value of a function at a place; writes its gradient, of the same length. A value
/// that is not finite says that the function is not defined there.
using SmoothFunction =
    std::function<double(const std::vector<double>& place, std::vector<double>& slope)>;

struct MinimizeOptions {
  /// The search has converged where no element of the gradient is larger.
  double largest_slope = 1e-5;
  /// No coordinate moves further in one iteration.
  double longest_step = 4;
  int iterations = 1000;
};

struct Minimum {
  std::vector<double> place;
  double value;
  bool has_converged;
};

/// A local minimum near the start by L-BFGS. The value never grows from one iteration
/// to the next by more than rounding: a line search finds a point that lies lower and
/// is flatter, and steepest descent takes over where the quasi-Newton direction fails.
/// Where the function is not defined at the start, the start comes back.
Minimum minimize(const SmoothFunction& function, const std::vector<double>& start,
                 const MinimizeOptions& options = {});

}  // namespace kinflow
