// The sections of an association study.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/pages/gwas_scan.h"

namespace kinflow {

/// Cells of a picture along the genome, most of them. The rest of the variants fall on
/// cells that are taken.
inline constexpr std::size_t kMostCells = 60'000;
/// Variants that stand in the picture by themselves, with their names.
inline constexpr std::size_t kTopVariants = 1500;

/// The table of loci, as `gwas` and `clump` write it.
struct LociTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// -log10 p along the genome, and the regions of loci; where the study found none,
/// those of its highest peaks.
nlohmann::json manhattan_section(const GwasScan& scan, const LociTable& loci,
                                 double threshold);

/// Quantiles of -log10 p with the band of chance for independent tests.
/// @param inflation  set to the median's ratio; of tests of `traits` traits together
nlohmann::json quantile_panel(const GwasScan& scan, const std::string& title,
                              std::size_t traits, double& inflation);

}  // namespace kinflow
