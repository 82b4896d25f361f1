// Reading what a request names.
#include "kinflow/fit/row_relations.h"

#include <fmt/format.h>

#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/data/check_relationship.h"
#include "kinflow/data/principal_components.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/relationship_sum.h"

namespace kinflow {
namespace {

constexpr std::int64_t kQuicklyCheckedRows = 2000;

RelationshipFile read_matrix(const DependenceRequest& request, std::size_t number,
                             const TableRows& rows, const std::string& table,
                             std::string& note) {
  const RelationshipRequest wanted{
      .path = request.relationships[number],
      .ids = request.relationship_ids.empty() ? "" : request.relationship_ids[number],
      .scale = request.relationship_scale};
  auto found = request.relationship_by_position
                   ? relationship_by_position(wanted, rows.table_rows)
                   : relationship_for_table(wanted, {.source = table, .ids = rows.ids});
  note = std::move(found.note);
  auto matrix = std::move(found.matrix);
  const auto kept = static_cast<std::int64_t>(rows.kept_rows.size());
  if (request.relationship_by_position && kept != rows.table_rows) {
    matrix = select_rows(matrix, rows.kept_rows);
  }
  if (request.sparsify) {
    matrix = sparsify(matrix, *request.sparsify);
    note += fmt::format("; entries below {} in absolute value set to 0, {} left",
                        *request.sparsify, matrix.sparse.values.size());
  }
  // Parts of a matrix may be sound where the whole is not, so it is checked before it
  // is split: sparse ones for the names of rows in the message, dense ones where that
  // takes a moment. The parts are checked in any case, where they are decomposed.
  const bool is_quick = matrix.is_sparse() || matrix.rows <= kQuicklyCheckedRows;
  if (is_quick && request.solver == RelationshipSolver::spectral) {
    const auto largest = kind_of(request) == DependenceKind::sum
                             ? RelationshipSumOptions{}.largest_component
                             : FamiliesOptions{}.largest_component;
    require_positive_semidefinite(matrix, largest);
  }
  return matrix;
}

Array read_components(const DependenceRequest& request, const TableRows& rows,
                      const std::string& table, MinusNine minus_nine,
                      std::string& note) {
  const auto file =
      read_principal_components(request.components, request.id, minus_nine);
  note = fmt::format("{}: {} of {}", file.source,
                     counted(file.columns, "principal component"),
                     counted(file.rows, "row"));
  const auto values =
      nd::tensor(file.values, nd::kDouble).view({file.rows, file.columns});
  if (!request.relationship_by_position) {
    if (file.ids.empty()) {
      throw InputError(file.source +
                       ": expected a column of ids to match the table's rows with, "
                       "named as in --id or IID, found none; where both have the same "
                       "rows in the same order, give --relationship-by-position in "
                       "place of --id");
    }
    const auto match = match_rows({.source = file.source, .ids = file.ids},
                                  {.source = table, .ids = rows.ids});
    note += "; " + match.note;
    return values.index_select(0, nd::tensor(match.rows, nd::kLong));
  }
  if (file.rows != rows.table_rows) {
    throw InputError(
        fmt::format("{}: expected {} rows, one for each row of the table, found {}{}",
                    file.source, rows.table_rows, file.rows,
                    file.ids.empty() ? "" : "; --id COLUMN matches rows by their ids"));
  }
  note += "; " + position_note(file.ids);
  return values.index_select(0, nd::tensor(rows.kept_rows, nd::kLong));
}

}  // namespace

RowRelations read_relations(const DependenceRequest& request, const TableRows& rows,
                            const std::string& table, MinusNine minus_nine) {
  RowRelations relations;
  relations.rows = rows.data.size(0);
  if (!request.group.empty()) relations.labels = rows.labels;
  if (request.time_kernel) {
    relations.times = rows.times.values;
    relations.times_are_dates = rows.times.are_dates;
  }
  for (std::size_t i = 0; i < request.relationships.size(); ++i) {
    relations.notes.emplace_back();
    relations.relationships.push_back(
        read_matrix(request, i, rows, table, relations.notes.back()));
  }
  if (!request.components.empty()) {
    relations.notes.emplace_back();
    relations.components =
        read_components(request, rows, table, minus_nine, relations.notes.back());
  }
  return relations;
}

RowRelations select_rows(const RowRelations& relations,
                         const std::vector<std::int64_t>& chosen) {
  RowRelations part;
  part.rows = static_cast<std::int64_t>(chosen.size());
  part.times_are_dates = relations.times_are_dates;
  for (const auto row : chosen) {
    const auto i = static_cast<std::size_t>(row);
    if (!relations.labels.empty()) part.labels.push_back(relations.labels[i]);
    if (!relations.times.empty()) part.times.push_back(relations.times[i]);
  }
  for (const auto& matrix : relations.relationships) {
    part.relationships.push_back(select_rows(matrix, chosen));
  }
  if (relations.components.defined()) {
    part.components =
        relations.components.index_select(0, nd::tensor(chosen, nd::kLong));
  }
  return part;
}

}  // namespace kinflow
