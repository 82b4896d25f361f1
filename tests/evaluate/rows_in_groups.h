// Rows with labels of groups and a dependence on them, for tests of scores and draws.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/log.h"
#include "kinflow/evaluate/row_law.h"
#include "tests/random_arrays.h"

namespace kinflow {

inline const LearnedDependence kBlocks{.kind = DependenceKind::blocks,
                                       .column = "g",
                                       .labels = {"x", "y"},
                                       .sizes = {3, 2},
                                       .parameters = {0.7, 0.2}};

inline TableRows some_rows(std::vector<std::string> labels, std::uint64_t seed = 1) {
  const auto n = static_cast<std::int64_t>(labels.size());
  TableRows rows{.data = normal({n, 2}, seed) * nd::tensor({0.5, 3.0}, nd::kDouble),
                 .labels = std::move(labels),
                 .table_rows = n};
  for (std::int64_t i = 0; i < n; ++i) rows.kept_rows.push_back(i);
  return rows;
}

/// The laws of rows by their labels, with what the model learned.
inline RowLaws laws_of_groups(const Model& model, const TableRows& rows,
                              const std::vector<double>& instead = {}) {
  DependenceRequest request;
  request.group = "g";
  request = model.dependence.request_for_new_rows(request, instead);
  Logger silent;
  return make_row_laws(model, request, read_relations(request, rows, "t.csv"), instead,
                       silent);
}

}  // namespace kinflow
