// What a user should know before a long study begins.
#pragma once

#include <string>

#include "kinflow/core/log.h"
#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/gwas/gwas_request.h"

namespace kinflow {

/// What a study will need.
struct GwasNeeds {
  double bytes = 0;    ///< of memory at its peak
  double seconds = 0;  ///< without the flow, from the speed of matrix products here
};
GwasNeeds estimate_needs(const GwasRequest& request, const GwasInputs& inputs);

/// Tells who and what takes part, what is lost to missing values, how the traits go
/// together, and what memory and time the study needs; warns of what will go badly.
/// InputError where the memory is not there, before anything is told.
void report_before(const GwasRequest& request, const GwasInputs& inputs,
                   Logger& logger);

/// Tells the scale of a relationship; warns of duplicates and twins.
void report_relationship(const RelationshipFile& relationship, Logger& logger);

}  // namespace kinflow
