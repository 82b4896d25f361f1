// Association studies of the mice's blood traits, by groups.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "studies/experiments.h"

namespace kinflow {

/// Trainings of the flows of each group, as in the paper.
inline constexpr std::int64_t kGroupRepeats = 3;

/// Traits that are tested jointly.
struct TraitGroup {
  std::string name;  ///< also of a file
  std::vector<std::string> traits;
};
std::vector<TraitGroup> mice_groups();

/// The loci of every method.
/// @param data  folder of PREFIX.bed, .bim and .fam, and pheno.tsv
nlohmann::json run_gwas_group(const ExperimentOptions& options, const std::string& data,
                              const TraitGroup& group, std::uint64_t seed,
                              Logger& logger);

/// Loci of every group, means over the trainings, beside the sums.
std::string gwas_group_report(const std::vector<TraitGroup>& groups,
                              const std::vector<nlohmann::json>& studies);

}  // namespace kinflow
