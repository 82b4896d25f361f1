// What a user should know before a long study begins.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/gwas/gwas_request.h"

namespace kinflow {

/// What a study will need.
struct GwasNeeds {
  double bytes = 0;    ///< of memory at its peak
  double seconds = 0;  ///< without the flow, from the speed of matrix products here
};
GwasNeeds estimate_needs(const GwasRequest& request, const GwasInputs& inputs);

/// Tables of who and what takes part, and of how the traits go together.
using PreflightTables = std::function<std::vector<std::string>(
    const GwasInputs&, const TraitCorrelations&)>;

/// Tells who and what takes part, what is lost to missing values, how the traits go
/// together, and what memory and time the study needs; warns of what will go badly.
/// InputError where the memory is not there, before anything is told.
/// @param tables  may be empty
void report_before(const GwasRequest& request, const GwasInputs& inputs,
                   const PreflightTables& tables, Logger& logger);

/// Tells the scale of a relationship; warns of duplicates and twins.
void report_relationship(const RelationshipFile& relationship, Logger& logger);

}  // namespace kinflow
