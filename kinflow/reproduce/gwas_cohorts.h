// Association studies of simulated cohorts, whose causal loci are known.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/reproduce/experiments.h"

namespace kinflow {

/// What every method found in one cohort, which is simulated in the folder of the
/// experiment and removed.
nlohmann::json run_gwas_cohort(const ExperimentOptions& options, std::uint64_t seed,
                               Logger& logger);

/// True and false loci, p-values where nothing acts, and claims, over all cohorts.
std::string gwas_cohort_report(const std::vector<nlohmann::json>& cohorts);

}  // namespace kinflow
