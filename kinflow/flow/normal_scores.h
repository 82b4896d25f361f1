// A smooth increasing map of one column to normal scores: whatever its distribution,
// the scores are nearly standard normal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kinflow {

/// Between knots the quantile function is a rational quadratic spline in the score z.
/// Beyond the outermost knot it grows as
///     x = x_K + d_K (exp(h (z - z_K)) - 1) / h,
/// a straight line where h = 0, a heavy tail where h is large. Both directions are
/// closed forms with a continuous slope.
struct NormalScores {
  /// Rows, as independent ones, that a shape takes.
  static constexpr double kFewestRows = 30;

  std::vector<double> scores;  ///< z of the knots, increasing
  std::vector<double> values;  ///< x of the knots, increasing
  std::vector<double> slopes;  ///< dx/dz at the knots, positive
  double lower_growth = 0;     ///< h of the lower tail, at least 0
  double upper_growth = 0;

  /// The map that sends weighted quantiles of a column, smoothed, to those of the
  /// normal distribution. Nothing where the rows are worth too few to tell the shape,
  /// or where the column is as good as normal already.
  /// @param column   not constant
  /// @param weights  of the rows; negative ones count as 0
  /// @param information  independent rows that they are worth
  static std::optional<NormalScores> from(std::span<const double> column,
                                          std::span<const double> weights,
                                          double information);

  /// Leaves every number as it is.
  static NormalScores identity(const std::vector<double>& knots);

  struct Score {
    double score;
    double log_slope;  ///< log dz/dx
  };
  Score to_score(double value) const;
  double to_value(double score) const;
};

}  // namespace kinflow
