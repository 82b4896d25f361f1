// The laws of new rows under a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/fit/row_relations.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"

namespace kinflow {

class Logger;

/// The columns of rows for a model, with those that tell their dependence.
ColumnChoice columns_for(const Model& model, const DependenceRequest& request);
/// What -9 stands for in a table for a model: what is asked for, or what it keeps.
MinusNineRule minus_nine_for(const Model& model, std::optional<MinusNine> asked);

/// A structure over rows, with its parameters.
struct RowLaw {
  std::shared_ptr<const Dependence> law;
  Array parameters;  ///< [k]
};

/// The laws of the same rows under the members of a model, in their order.
using RowLaws = std::vector<RowLaw>;

/// The laws of rows that depend on each other as the members of a model learned it. The
/// logger gets the notes of the relations. InputError where a modelled column says how
/// they depend.
/// @param request  as LearnedDependence::request_for_new_rows() gives it
/// @param relations  of the rows; its matrices are used up
/// @param instead  parameters in place of the learned ones; empty: none
RowLaws make_row_laws(const Model& model, const DependenceRequest& request,
                      RowRelations relations, const std::vector<double>& instead,
                      Logger& logger);

/// Rows that follow observed ones, and depend on none of them.
struct UnmatchedRows {
  std::int64_t rows = 0;
  std::int64_t observed = 0;  ///< observed rows on which none of the others depends
};

/// Counts them, by groups and relationships. InputError where no row depends on an
/// observed one.
/// @param relations  of `observed` rows of one table, then those of another one
/// @param given, table  the two, for messages
UnmatchedRows find_unmatched_rows(const RowRelations& relations, std::int64_t observed,
                                  const std::string& given, const std::string& table);

/// The laws of the first `count` of the rows alone; none for an unstructured
/// dependence, some rows of which have no law of its kind.
std::optional<RowLaws> make_first_row_laws(
    const Model& model, const DependenceRequest& request, const RowRelations& relations,
    std::int64_t count, const std::vector<double>& instead, Logger& logger);

}  // namespace kinflow
