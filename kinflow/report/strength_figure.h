// The picture of test likelihood against the strength of dependence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// Test scores of one method, interval by interval; NaN leaves a gap.
struct StrengthScores {
  std::string name{};
  std::vector<double> mean{};            ///< over seeds
  std::vector<double> standard_error{};  ///< of the mean; NaN: no error bar
};

/// What draw_strength_figure() draws.
struct StrengthFigure {
  /// Ends of the intervals of rho; one more than there are intervals, ascending.
  std::vector<double> edges{0, 0.2, 0.4, 0.6, 0.8, 1};
  std::vector<StrengthScores> methods{};
  std::optional<double> entropy{};  ///< of the true density: the best score there is
  std::string title{};
  std::string x_label = "correlation \u03c1 in blocks";
  std::string y_label = "test NLL (nats)";
};

/// Figure 2 of the paper: a line with error bars for each method over the intervals of
/// rho, side by side within an interval, and a dashed line at the entropy. InputError
/// where there is no method, edges do not ascend, a method has another number of
/// intervals, or a standard error is negative.
Canvas draw_strength_figure(const StrengthFigure& figure);

/// Saves draw_strength_figure() as PNG; InputError where that fails.
void write_strength_figure(const std::string& path, const StrengthFigure& figure);

}  // namespace kinflow
