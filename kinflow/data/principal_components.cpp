// Reading principal components of plink, GCTA and tables.
#include "kinflow/data/principal_components.h"

#include <fmt/format.h>

#include <algorithm>

#include "kinflow/core/error.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/table.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

PrincipalComponents read_eigenvec(const std::string& path) {
  PrincipalComponents result;
  result.source = path;
  TextLines lines(path);
  std::size_t width = 0;
  std::size_t id_cells = 2;
  while (lines.next_filled()) {
    const auto cells = split_cells(lines.line());
    if (width == 0) {
      width = cells.size();
      const auto first = cells.empty() ? "" : lower_case(cells[0]);
      if (first == "#iid" || first == "iid") id_cells = 1;
      result.columns =
          static_cast<std::int64_t>(width) - static_cast<std::int64_t>(id_cells);
      if (first == "#fid" || first == "fid" || id_cells == 1) continue;
    }
    if (cells.size() != width) {
      lines.fail(fmt::format("expected {} cells as in the first line, found {}", width,
                             cells.size()));
    }
    result.ids.push_back(id_cells == 2 ? sample_id(cells[0], cells[1])
                                       : sample_id("", cells[0]));
    for (std::size_t i = id_cells; i < width; ++i) {
      double value = 0;
      if (read_number(cells[i], value) != CellKind::number) {
        lines.fail("expected a number, found " + in_quotes(cells[i]));
      }
      result.values.push_back(value);
    }
    ++result.rows;
  }
  return result;
}

/// The columns of ids of a table: those asked for where it has them, else plink's.
std::vector<std::string> find_id_columns(const std::vector<std::string>& names,
                                         const std::vector<std::string>& asked_for) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!asked_for.empty() && std::all_of(asked_for.begin(), asked_for.end(), has)) {
    return asked_for;
  }
  std::vector<std::string> found;
  for (const auto* plain : {"FID", "IID"}) {
    for (const auto& name : {std::string(plain), fmt::format("#{}", plain)}) {
      if (has(name)) found.push_back(name);
    }
  }
  return found;
}

PrincipalComponents read_component_table(const std::string& path,
                                         const std::vector<std::string>& asked_for) {
  const auto table = read_table(path);
  const auto id_columns = find_id_columns(table.names(), asked_for);
  std::vector<std::string> columns;
  for (const auto& name : table.names()) {
    if (std::find(id_columns.begin(), id_columns.end(), name) == id_columns.end()) {
      columns.push_back(name);
    }
  }
  auto matrix = numeric_matrix(table, columns);
  PrincipalComponents result{.source = path,
                             .ids = {},
                             .rows = matrix.rows,
                             .columns = static_cast<std::int64_t>(columns.size()),
                             .values = std::move(matrix.values)};
  if (id_columns.empty()) return result;
  const auto individuals = labels(table, id_columns.back());
  const auto families = labels(table, id_columns.front());
  for (std::size_t i = 0; i < individuals.size(); ++i) {
    result.ids.push_back(
        sample_id(id_columns.size() > 1 ? families[i] : "", individuals[i]));
  }
  return result;
}

}  // namespace

PrincipalComponents read_principal_components(
    const std::string& path, const std::vector<std::string>& id_columns) {
  auto result = path.ends_with(".eigenvec") ? read_eigenvec(path)
                                            : read_component_table(path, id_columns);
  if (result.rows == 0) throw InputError(path + ": expected rows, found none");
  if (result.columns < 2) {
    throw InputError(
        fmt::format("{}: expected at least 2 principal components beside the ids, "
                    "found {}",
                    path, std::max<std::int64_t>(0, result.columns)));
  }
  if (!result.ids.empty()) check_sample_ids(result.ids, path);
  return result;
}

}  // namespace kinflow
