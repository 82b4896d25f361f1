// From traits as they are in a table to those that are tested.
#pragma once

#include <atomic>
#include <string>

#include "kinflow/core/log.h"
#include "kinflow/data/check_columns.h"
#include "kinflow/genetics/association_tests.h"
#include "kinflow/gwas/flow_traits.h"
#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/gwas/gwas_request.h"

namespace kinflow {

/// The traits of the people who are analysed, as they are in the table.
ColumnsView traits_as_read(const GwasInputs& inputs);
/// InputError where traits that were not named look like labels of rows.
void check_no_labels_are_traits(const GwasInputs& inputs);
/// InputError where a flow cannot learn them; see data/check_columns.h. What covariates
/// leave of a trait with ties has none, but is no less discrete.
void check_flow_traits(const GwasRequest& request, const GwasInputs& inputs);

/// What a regression on the covariates leaves of the traits.
NamedColumns residuals_of(const GwasInputs& inputs);

/// What a flow of the request is trained on: PREFIX.traits.tsv, in PREFIX.model.
/// @param relationship  file, or empty for a flow of independent rows
FlowTraits flow_traits(const GwasRequest& request, const GwasInputs& inputs,
                       const std::string& relationship);

/// The set that is tested jointly. A flow is fitted in PREFIX.model, on
/// PREFIX.traits.tsv and the given relationship.
/// @param relationship  file, or empty for a flow of independent rows
TraitSet joint_set(const GwasRequest& request, const GwasInputs& inputs,
                   const std::string& relationship, const std::atomic<bool>* stop,
                   Logger& logger);

/// Every trait by itself: rank-normal scores of what the covariates leave.
TraitSet single_set(const GwasInputs& inputs);

}  // namespace kinflow
