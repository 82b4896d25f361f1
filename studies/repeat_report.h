// The report on tables of repeat measurements.
#pragma once

#include <string>
#include <vector>

#include "studies/repeat_trial.h"

namespace kinflow {

/// Tables of scores, of differences between flows, and of what the rows chose; of
/// several splits also claims.
/// @param trials  of every table as many splits, with the same seeds
std::string repeats_report(const std::vector<RepeatTable>& tables,
                           const std::vector<RepeatTrial>& trials);

/// All scores, one line each, as comma-separated values.
std::string repeats_as_csv(const std::vector<RepeatTrial>& trials);

}  // namespace kinflow
