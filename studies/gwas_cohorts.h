// Association studies of simulated cohorts, whose causal loci are known.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "studies/experiments.h"

namespace kinflow {

/// The loci that every method finds in a cohort with causal ones. The cohort is
/// simulated in the folder of the experiment and removed; one thread does it all.
nlohmann::json run_power_cohort(const ExperimentOptions& options, std::uint64_t seed,
                                Logger& logger);
/// True and false loci over all cohorts, differences and claims.
std::string power_report(const std::vector<nlohmann::json>& cohorts);

/// Of the variance, in cohorts where families have one.
inline constexpr double kFamilyEnvironment = 0.1;

/// The p-values that every method has on chromosomes without effects.
nlohmann::json run_null_cohort(const ExperimentOptions& options, std::uint64_t seed,
                               double family_environment, Logger& logger);
/// @param with_environment  the same number of cohorts with kFamilyEnvironment
std::string null_report(const std::vector<nlohmann::json>& cohorts,
                        const std::vector<nlohmann::json>& with_environment);

}  // namespace kinflow
