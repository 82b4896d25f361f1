// Tables of results, with a row for each row of the table that was read.
#pragma once

#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/table.h"
#include "kinflow/data/write_table.h"
#include "kinflow/fit/table_rows.h"

namespace kinflow {

/// InputError for columns to copy (--keep) that the table has not, or the output has
/// already.
void check_copies(const Table& header, const std::vector<std::string>& names,
                  const std::vector<std::string>& output_names);

/// Columns of a table as they are. Missing cells are an InputError, unless rows are
/// dropped for such.
std::vector<TextColumn> copied_columns(const Table& table,
                                       const std::vector<std::string>& names,
                                       bool drop_missing);

/// Results [kept, columns] of rows in the places of all rows of their table, NaN in
/// those that were dropped: [table_rows, columns].
Array in_places_of_table(const Array& results, const TableRows& rows);

}  // namespace kinflow
