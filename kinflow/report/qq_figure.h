// The picture of p-values against what chance gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// The p-values of one method.
struct QqPValues {
  std::string name{};
  std::vector<double> log10_p{};      ///< -log10 p; NaN: left out
  std::optional<double> inflation{};  ///< genomic inflation factor, in the legend
};

/// What draw_qq_figure() draws.
struct QqFigure {
  std::vector<QqPValues> methods{};
  std::string title{};
  std::string subtitle{};
};

/// -log10 of ordered p-values over that of their expectations under uniformity, a cloud
/// for each method, with the diagonal and the band that holds 95% of each ordered
/// p-value of as many independent tests as the method with most of them has. Where
/// several points fall on a pixel one is drawn. InputError where there is no method, a
/// method has no p-value, or a -log10 p is negative or infinite.
Canvas draw_qq_figure(const QqFigure& figure);

/// Saves draw_qq_figure() as PNG; InputError where that fails.
void write_qq_figure(const std::string& path, const QqFigure& figure);

/// The p that the k-th smallest of n independent uniform p-values is below with a
/// probability. An approximation for pictures: its error is below 3% from n = 100, and
/// far smaller where k is small beside n. k from 1 to n.
double ordered_p_quantile(double k, double n, double probability);

}  // namespace kinflow
