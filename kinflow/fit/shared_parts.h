// What rows of a group have in common, in terms of the table: shares of the variance of
// columns, and correlations of what is shared.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kinflow/fit/fit.h"
#include "kinflow/fit/fitted_dependence.h"
#include "kinflow/model/model.h"

namespace kinflow {

/// Adds `shared_parts` to the record of a fitted model, for every way in which rows
/// depend: by simulation the share of every column's variance that rows with the same
/// shared part of the latents have in common, and the correlation of these parts of
/// every two columns, with 95% intervals. docs/model.md says how, docs/architecture.md
/// lists the keys. Nothing is added where rows are independent or unstructured; what
/// fails is a warning.
/// @param fitted  of the rows
/// @param rows    training rows, whose contexts and times serve
void add_shared_parts(const FittedDependence& fitted, const FitRequest& request,
                      const TableRows& rows, Model& model, Logger& logger);

}  // namespace kinflow
