// Rows of a table as arrays, with the columns that tell how they depend on each other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/data/categories.h"
#include "kinflow/data/check_columns.h"
#include "kinflow/data/column_bounds.h"
#include "kinflow/data/sample_ids.h"
#include "kinflow/data/table.h"

namespace kinflow {

/// Rows of a table as float64 arrays in original units.
struct TableRows {
  Array data;          ///< [n, p]
  Array context = {};  ///< [n, c] or undefined; categories are indicators
  CategoryLevels context_levels = {};  ///< of the context columns that are text
  std::vector<std::string> labels =
      {};  ///< [n] of blocks, empty without a group column
  std::vector<std::string> fold_labels = {};  ///< [n] empty without such a column
  TimeColumn times = {};                      ///< [n] empty without a time column
  std::vector<SampleId> ids = {};             ///< [n] empty without columns of ids
  std::vector<std::int64_t> kept_rows = {};   ///< [n] row of the table
  std::int64_t table_rows = 0;  ///< before rows with missing values were dropped
  std::int64_t first_row = 0;   ///< rows of the file before a piece of a table
  std::vector<ColumnBounds> bounds = {};  ///< [p] that the data keep, or none
};

/// Columns to read from a table that holds data for a model or a request.
struct ColumnChoice {
  std::vector<std::string> columns = {};  ///< may be empty: data is then [n, 0]
  std::vector<std::string> context = {};
  CategoryLevels context_levels = {};  ///< of those that are text
  /// Which context columns are text, and their levels, follows from the rows.
  bool finds_levels = false;
  std::string group = {};
  std::string time = {};  ///< of numbers, or of dates such as 2024-03-31
  std::string fold_by = {};
  bool drop_missing = false;
  std::vector<std::string> id = {};  ///< individual, or family and individual
  bool may_drop_all = false;         ///< in a piece of a table no row needs to be left
  MinusNineRule minus_nine = {};
  std::vector<ColumnBounds> bounds = {};  ///< of the columns; empty: none
};
/// InputError for a table without such columns and for values that they cannot have,
/// those that are not within their bounds among them.
TableRows read_rows(const Table& table, const ColumnChoice& choice);
TableRows read_rows(const std::string& path, const ColumnChoice& choice);

/// Rows [n, p] float64 on the CPU as columns.
/// @param source  file, for messages
ColumnsView columns_view(const Array& rows, const std::vector<std::string>& names = {},
                         const std::string& source = {});
/// The context columns that are numbers: [n, c] and their names.
/// @param columns  of the context, as they were asked for
std::pair<Array, std::vector<std::string>> context_of_numbers(
    const TableRows& rows, const std::vector<std::string>& columns);

/// Some of the rows, in the given order.
TableRows select_rows(const TableRows& rows, const std::vector<std::int64_t>& chosen);
/// A hash of all numbers of every row, data and context.
std::vector<std::uint64_t> row_hashes(const TableRows& rows);
/// The rows of one table followed by those of another, as if they stood in one.
/// InputError where one has dates and the other numbers for times.
TableRows append_rows(const TableRows& first, const TableRows& second);

}  // namespace kinflow
