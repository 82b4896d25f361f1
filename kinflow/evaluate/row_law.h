// The law of new rows under a model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kinflow/dependence/dependence.h"
#include "kinflow/train/model.h"
#include "kinflow/train/row_relations.h"
#include "kinflow/train/table_rows.h"

namespace kinflow {

class Logger;

/// The columns of rows for a model, with those that tell their dependence.
ColumnChoice columns_for(const Model& model, const DependenceRequest& request);

/// A structure over rows, with its parameters.
struct RowLaw {
  std::unique_ptr<Dependence> law;
  at::Tensor parameters;  ///< [k]
};

/// The law of rows that depend on each other as a model learned it. The logger gets the
/// notes of the relations.
/// @param request  as LearnedDependence::request_for_new_rows() gives it
/// @param relations  of the rows; its matrices are used up
/// @param instead  parameters in place of the learned ones; empty: none
RowLaw make_row_law(const Model& model, const DependenceRequest& request,
                    RowRelations relations, const std::vector<double>& instead,
                    Logger& logger);

}  // namespace kinflow
