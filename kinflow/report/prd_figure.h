// The picture of precision-recall curves of several models.
#pragma once

#include <string>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// The curve of one model.
struct PrdFigureCurve {
  std::string name{};
  std::vector<double> precision{};  ///< from 0 to 1
  std::vector<double> recall{};     ///< as many, from 0 to 1
};

/// What draw_prd_figure() draws.
struct PrdFigure {
  std::vector<PrdFigureCurve> curves{};
  std::string title{};
  std::string subtitle{};  ///< e.g. the name of the features
};

/// Precision over recall, each from 0 to 1, a line for each curve in the order given;
/// after kCategoryColors lines, colours repeat with dashes. InputError where there is
/// no curve, one is empty, its numbers differ in length, or one is not from 0 to 1.
Canvas draw_prd_figure(const PrdFigure& figure);

/// Saves draw_prd_figure() as PNG; InputError where that fails.
void write_prd_figure(const std::string& path, const PrdFigure& figure);

}  // namespace kinflow
