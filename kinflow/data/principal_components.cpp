// Reading principal components of plink, GCTA and tables.
#include "kinflow/data/principal_components.h"

#include <fmt/format.h>

#include <algorithm>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/table.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

// InputError where a -9 of plink's file is no number, or may be none.
void check_minus_nine(const PrincipalComponents& file, MinusNine minus_nine,
                      const std::vector<std::int64_t>& line_of_row) {
  if (minus_nine == MinusNine::value) return;
  const auto found = std::find(file.values.begin(), file.values.end(), kMinusNine);
  if (found == file.values.end()) return;
  const auto place = found - file.values.begin();
  std::vector<double> column;
  for (std::int64_t row = 0; row < file.rows; ++row) {
    column.push_back(file.values[static_cast<std::size_t>(row * file.columns +
                                                          place % file.columns)]);
  }
  const bool is_careful = minus_nine == MinusNine::careful;
  if (is_careful && minus_nine_is_plainly_a_value(column)) return;
  throw InputError(fmt::format(
      "{}:{}: component {}: expected {}", file.source,
      line_of_row[static_cast<std::size_t>(place / file.columns)],
      place % file.columns + 1,
      is_careful ? fmt::format("to know whether -9 is a missing value or a number; {}",
                               kMinusNineDecides)
                 : "a number, found -9, a missing value"));
}

void require_components(const std::string& path, std::int64_t columns) {
  if (columns >= 2) return;
  throw InputError(
      fmt::format("{}: expected at least 2 principal components beside the ids, "
                  "found {}",
                  path, std::max<std::int64_t>(0, columns)));
}

PrincipalComponents read_eigenvec(const std::string& path, MinusNine minus_nine) {
  PrincipalComponents result;
  result.source = path;
  TextLines lines(path);
  std::size_t width = 0;
  std::size_t id_cells = 2;
  std::vector<std::int64_t> line_of_row;
  while (lines.next_filled()) {
    const auto cells = split_cells(lines.line());
    if (width == 0) {
      width = cells.size();
      const auto first = cells.empty() ? "" : lower_case(cells[0]);
      if (first == "#iid" || first == "iid") id_cells = 1;
      result.columns =
          static_cast<std::int64_t>(width) - static_cast<std::int64_t>(id_cells);
      require_components(path, result.columns);
      if (first == "#fid" || first == "fid" || id_cells == 1) continue;
    }
    if (cells.size() != width) {
      lines.fail(fmt::format("expected {} as in the first line, found {}",
                             counted(width, "cell"), cells.size()));
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
    line_of_row.push_back(lines.number());
  }
  check_minus_nine(result, minus_nine, line_of_row);
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
                                         const std::vector<std::string>& asked_for,
                                         MinusNine minus_nine) {
  const auto table = read_table(path);
  const auto id_columns = find_id_columns(table.names(), asked_for);
  std::vector<std::string> columns;
  for (const auto& name : table.names()) {
    if (std::find(id_columns.begin(), id_columns.end(), name) == id_columns.end()) {
      columns.push_back(name);
    }
  }
  auto matrix = numeric_matrix(table, columns, {.minus_nine = {.meaning = minus_nine}});
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
    const std::string& path, const std::vector<std::string>& id_columns,
    MinusNine minus_nine) {
  auto result = path.ends_with(".eigenvec")
                    ? read_eigenvec(path, minus_nine)
                    : read_component_table(path, id_columns, minus_nine);
  if (result.rows == 0) throw InputError(path + ": expected rows, found none");
  require_components(path, result.columns);
  if (!result.ids.empty()) check_sample_ids(result.ids, path);
  return result;
}

}  // namespace kinflow
