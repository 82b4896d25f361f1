// The picture of learned against true correlations.
#pragma once

#include <string>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// The correlations that one method learned, block by block.
struct RecoveredCorrelations {
  std::string title{};
  std::string subtitle{};  ///< empty: the mean squared error, e.g. "MSE 0.014"
  std::vector<double> true_rho{};
  std::vector<double> learned_rho{};  ///< as many as true_rho
  std::vector<double> block_size{};   ///< as many as true_rho, above 0; or empty
};

/// What draw_recovery_figure() draws.
struct RecoveryFigure {
  std::vector<RecoveredCorrelations> methods{};
  std::string x_label = "true \u03c1";
  std::string y_label = "learned \u03c1";
  int columns = 4;  ///< panels side by side
};

/// Mean squared difference of learned and true correlations. InputError where there is
/// none, the lengths differ or one is not finite.
double recovery_error(const RecoveredCorrelations& method);

/// One square panel for each method: a disc for each block over a dashed diagonal, with
/// the same limits in all panels. Where block sizes are given, the area of a disc is in
/// proportion to its block, down to a smallest disc. InputError where there is no
/// method or column, or a method's vectors are empty, differ in length or hold what is
/// no correlation or size.
Canvas draw_recovery_figure(const RecoveryFigure& figure);

/// Saves draw_recovery_figure() as PNG; InputError where that fails.
void write_recovery_figure(const std::string& path, const RecoveryFigure& figure);

}  // namespace kinflow
