// How rows of a table depend on each other, as the table's columns and files say it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/relationship_file.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/dependence_request.h"

namespace kinflow {

/// What is known of how n rows depend on each other. Only what the request asks for is
/// filled.
struct RowRelations {
  std::int64_t rows = 0;
  std::vector<std::string> labels;              ///< [n] of blocks
  std::vector<RelationshipFile> relationships;  ///< each of n rows
  Array components;                             ///< [n, k]
  std::vector<double> times;                    ///< [n]
  bool times_are_dates = false;                 ///< in days
  std::vector<std::string> notes;               ///< lines for the user
};

/// Reads the relations of rows of a table. Rows are matched by their ids, or by
/// position where the request says so: files then have a row for every row of the
/// table, also for those that were dropped. Throws InputError, with the file's name.
/// @param table       its name, for messages
/// @param minus_nine  of tables of principal components
RowRelations read_relations(const DependenceRequest& request, const TableRows& rows,
                            const std::string& table,
                            MinusNine minus_nine = MinusNine::careful);
/// Those of some of the rows, in the given order, without notes.
RowRelations select_rows(const RowRelations& relations,
                         const std::vector<std::int64_t>& chosen);

}  // namespace kinflow
