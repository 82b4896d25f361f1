// The picture of what dependence does to a flow: truth, sample, ordinary fit, adjusted
// fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/report/figure.h"

namespace kinflow {

/// What write_density_comparison() draws. The subtitles may be empty.
struct DensityComparison {
  DensityGrid true_density{};
  DensityGrid baseline_density{};     ///< learned by an ordinary flow
  DensityGrid adjusted_density{};     ///< learned with the dependence adjusted for
  std::vector<double> sample_x{};     ///< [n] the dependent training rows
  std::vector<double> sample_y{};     ///< [n]
  std::vector<std::int64_t> block{};  ///< [n] the block of each row
  std::string true_title = "(a) True density";
  std::string sample_title = "(b) Dependent sample";
  std::string baseline_title = "(c) Ordinary flow";
  std::string adjusted_title = "(d) Dependence adjusted";
  std::string true_subtitle{};
  std::string sample_subtitle{};    ///< empty: the share of rows in the coloured blocks
  std::string baseline_subtitle{};  ///< e.g. "test NLL 1.53"
  std::string adjusted_subtitle{};
  std::string x_label = "x1";
  std::string y_label = "x2";
};

/// Figure 1 of the paper: four panels with the limits of the true density and one
/// colour scale. Its end is the largest density of the three, but not more than 1.5
/// times that of the truth, so that a spike of a bad fit does not bleach the others.
Canvas draw_density_comparison(const DensityComparison& comparison);

/// Saves draw_density_comparison() as PNG; InputError where that fails.
void write_density_comparison(const std::string& path,
                              const DensityComparison& comparison);

}  // namespace kinflow
