// What a finished fit says about its dependence, with its uncertainty.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json_fwd.hpp>

#include "kinflow/train/fitted_dependence.h"
#include "kinflow/train/model.h"
#include "kinflow/train/table_rows.h"

namespace kinflow {

/// The likelihood of the training rows with AIC and BIC, and for every dependence
/// parameter its most likely value given the flow, standard error and 95% interval; a
/// profile interval and the test of independence where there are some. Numbers that do
/// not exist are null. docs/architecture.md lists the keys.
/// @param parameters  [k], learned, of the law
nlohmann::json infer_dependence(const FittedDependence& fitted,
                                const at::Tensor& parameters, const Model& model,
                                const TableRows& train);

}  // namespace kinflow
