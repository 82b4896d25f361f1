// The picture of p-values along the genome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/report/canvas.h"

namespace kinflow {

/// What draw_manhattan_figure() draws.
struct ManhattanFigure {
  std::vector<std::string> chromosome{};  ///< of each variant
  std::vector<std::int64_t> position{};   ///< as many; base pairs, not negative
  std::vector<double> log10_p{};          ///< as many; -log10 p, NaN: left out
  std::vector<std::size_t> index{};       ///< variants that stand for loci, marked
  double threshold = 5e-8;                ///< of genome-wide significance
  std::string title{};
  std::string subtitle{};
};

/// -log10 p of every variant over its place: chromosomes side by side in the order 1 to
/// 22 (or more), X, Y, XY, MT and other names, in two colours that take turns, a dashed
/// line at the threshold, and the index variants as larger discs. Where several points
/// fall on a pixel one is drawn.
/// InputError where the vectors differ in length or hold nothing to draw, a -log10 p is
/// negative or infinite, a position is negative, an index is no variant with a p-value,
/// or the threshold is not above 0 and up to 1.
Canvas draw_manhattan_figure(const ManhattanFigure& figure);

/// Saves draw_manhattan_figure() as PNG; InputError where that fails.
void write_manhattan_figure(const std::string& path, const ManhattanFigure& figure);

}  // namespace kinflow
