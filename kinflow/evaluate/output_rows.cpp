// Columns that are copied, and results put beside them.
#include "kinflow/evaluate/output_rows.h"

#include <limits>
#include <set>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"

namespace kinflow {

void check_copies(const Table& header, const std::vector<std::string>& names,
                  const std::vector<std::string>& output_names) {
  std::set<std::string> taken(output_names.begin(), output_names.end());
  for (const auto& name : names) {
    if (!taken.insert(name).second) {
      throw InputError("--keep: expected columns that the output has not, found " +
                       in_quotes(name));
    }
  }
  header.column_indices(names);
}

std::vector<TextColumn> copied_columns(const Table& table,
                                       const std::vector<std::string>& names,
                                       bool drop_missing) {
  std::vector<TextColumn> columns;
  for (const auto& name : names) {
    columns.push_back(
        {name, drop_missing ? cell_texts(table, name) : labels(table, name)});
  }
  return columns;
}

Array in_places_of_table(const Array& results, const TableRows& rows) {
  if (results.size(0) == rows.table_rows) return results;
  auto all = nd::full({rows.table_rows, results.size(1)},
                      std::numeric_limits<double>::quiet_NaN(), results.options());
  all.index_copy_(0, nd::tensor(rows.kept_rows, nd::kLong), results);
  return all;
}

}  // namespace kinflow
