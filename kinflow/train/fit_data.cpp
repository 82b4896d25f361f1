// Reading, checking and splitting the rows of a fit.
#include "kinflow/train/fit_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/table.h"
#include "kinflow/dependence/relationship.h"

namespace kinflow {
namespace {

RelationshipTensor to_tensor(TableRelationship relationship) {
  const auto rows = relationship.matrix.rows;
  const auto source = relationship.matrix.source;
  const auto values = to_dense(std::move(relationship.matrix));
  RelationshipTensor result{
      .matrix = at::tensor(values, at::kDouble).view({rows, rows}),
      .note = std::move(relationship.note)};
  try {
    check_positive_semidefinite(result.matrix);
  } catch (const InputError& error) {
    throw InputError(source + ": " + error.what());
  }
  return result;
}

// A column that is not modelled must not be among those that are.
void check_one_role(const std::string& column, const std::string& option,
                    const std::vector<std::string>& modelled,
                    const std::string& table) {
  if (std::find(modelled.begin(), modelled.end(), column) == modelled.end()) return;
  throw InputError(fmt::format(
      "{}: column {}: expected one role, found it both in {} and in --columns", table,
      in_quotes(column), option));
}

// All columns that have no other role.
std::vector<std::string> remaining_columns(const Table& table,
                                           const DataRequest& request) {
  std::vector<std::string> columns;
  for (const auto& name : table.names()) {
    const auto is_among = [&](const std::vector<std::string>& others) {
      return std::find(others.begin(), others.end(), name) != others.end();
    };
    const bool has_role = name == request.group || name == request.time ||
                          is_among(request.context) || is_among(request.id);
    if (!has_role) columns.push_back(name);
  }
  return columns;
}

TableRows select(const TableRows& rows, const std::vector<std::int64_t>& chosen) {
  const auto index = at::tensor(chosen, at::kLong);
  TableRows part{.data = rows.data.index_select(0, index),
                 .context = rows.context.defined() ? rows.context.index_select(0, index)
                                                   : at::Tensor(),
                 .labels = {},
                 .times = {},
                 .kept_rows = {},
                 .table_rows = rows.table_rows};
  for (const auto row : chosen) {
    if (!rows.labels.empty()) {
      part.labels.push_back(rows.labels[static_cast<std::size_t>(row)]);
    }
    if (!rows.ids.empty()) part.ids.push_back(rows.ids[static_cast<std::size_t>(row)]);
    part.kept_rows.push_back(rows.kept_rows[static_cast<std::size_t>(row)]);
  }
  return part;
}

Split split_rows(const TableRows& rows, const DataRequest& request,
                 std::uint64_t seed) {
  SplitOptions options{.by = request.split_by.value_or(SplitBy::rows),
                       .valid_fraction = request.valid_fraction,
                       .seed = seed};
  if (options.by == SplitBy::group) {
    options.block_of_row = number_blocks(rows.labels).block_of_row;
  } else if (options.by == SplitBy::time) {
    options.time_of_row = rows.times;
  }
  return split(rows.data.size(0), options);
}

// A column without spread has no density. Checked on the training rows.
void check_spread(const at::Tensor& rows, const std::vector<std::string>& names,
                  const std::string& source) {
  const auto constant = rows.eq(rows.select(0, 0)).all(0);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!constant[static_cast<std::int64_t>(i)].item<bool>()) continue;
    throw InputError(fmt::format(
        "{}: column '{}': expected values that differ, found {} in all {} "
        "training rows",
        source, names[i], rows[0][static_cast<std::int64_t>(i)].item<double>(),
        rows.size(0)));
  }
}

}  // namespace

TableRows read_rows(const Table& table, const ColumnChoice& choice) {
  auto names = choice.columns;
  names.insert(names.end(), choice.context.begin(), choice.context.end());
  const auto found = std::find(names.begin(), names.end(), choice.time);
  const auto time = found - names.begin();
  if (!choice.time.empty() && found == names.end()) names.push_back(choice.time);
  NumericMatrixOptions options{.missing = choice.drop_missing ? MissingPolicy::drop
                                                              : MissingPolicy::refuse};
  options.label_columns = choice.id;
  if (!choice.group.empty()) options.label_columns.push_back(choice.group);
  auto matrix = numeric_matrix(table, names, options);

  const auto values = at::tensor(matrix.values, at::kDouble)
                          .view({matrix.rows, static_cast<std::int64_t>(names.size())});
  const auto data_width = static_cast<std::int64_t>(choice.columns.size());
  const auto context_width = static_cast<std::int64_t>(choice.context.size());
  TableRows rows{.data = values.narrow(1, 0, data_width).contiguous(),
                 .context = {},
                 .labels = {},
                 .times = {},
                 .kept_rows = std::move(matrix.kept_rows),
                 .table_rows = table.rows()};
  if (context_width > 0) {
    rows.context = values.narrow(1, data_width, context_width).contiguous();
  }
  if (!choice.group.empty()) rows.labels = labels(table, choice.group, rows.kept_rows);
  for (std::int64_t row = 0; row < matrix.rows && !choice.time.empty(); ++row) {
    rows.times.push_back(values[row][time].item<double>());
  }
  if (!choice.id.empty()) {
    for (auto& individual : labels(table, choice.id.back(), rows.kept_rows)) {
      rows.ids.push_back(sample_id("", individual));
    }
  }
  if (choice.id.size() > 1) {
    const auto families = labels(table, choice.id.front(), rows.kept_rows);
    for (std::size_t i = 0; i < families.size(); ++i) {
      rows.ids[i] = sample_id(families[i], rows.ids[i].individual);
    }
  }
  return rows;
}

TableRows read_rows(const std::string& path, const ColumnChoice& choice) {
  return read_rows(read_table(path), choice);
}

LabelledBlocks make_blocks(const std::vector<std::string>& label_of_row,
                           BlockCorrelation correlation, at::Device device) {
  const auto numbers = number_blocks(label_of_row);
  LabelledBlocks labelled{.blocks = std::make_unique<Blocks>(
                              at::tensor(numbers.block_of_row, at::kLong).to(device),
                              BlocksOptions{.correlation = correlation}),
                          .labels = {},
                          .sizes = {}};
  const auto sizes = labelled.blocks->sizes().cpu();
  for (std::size_t block = 0; block < numbers.label_of_block.size(); ++block) {
    const auto size = sizes[static_cast<std::int64_t>(block)].item<std::int64_t>();
    if (size < 2) continue;
    labelled.labels.push_back(numbers.label_of_block[block]);
    labelled.sizes.push_back(size);
  }
  return labelled;
}

RelationshipTensor read_relationship(const RelationshipRequest& request,
                                     std::int64_t rows) {
  return to_tensor(relationship_by_position(request, rows));
}

RelationshipTensor read_relationship(const RelationshipRequest& request,
                                     const TableRows& rows, const std::string& table) {
  if (!rows.ids.empty()) {
    return to_tensor(
        relationship_for_table(request, {.source = table, .ids = rows.ids}));
  }
  auto relationship = relationship_by_position(request, rows.table_rows);
  relationship.matrix = select_rows(std::move(relationship.matrix), rows.kept_rows);
  return to_tensor(std::move(relationship));
}

FitRows read_fit_rows(const DataRequest& request, std::uint64_t seed) {
  const auto table = read_table(request.table);
  FitRows rows;
  rows.columns =
      request.columns.empty() ? remaining_columns(table, request) : request.columns;
  if (rows.columns.empty()) {
    throw InputError(request.table + ": expected at least one data column, found none");
  }
  check_one_role(request.group, "--group", rows.columns, request.table);
  for (const auto& column : request.id) {
    check_one_role(column, "--id", rows.columns, request.table);
  }
  const ColumnChoice choice{.columns = rows.columns,
                            .context = request.context,
                            .group = request.group,
                            .time = request.time,
                            .drop_missing = request.drop_missing,
                            .id = request.id};
  rows.train = read_rows(table, choice);
  rows.dropped_rows = table.rows() - rows.train.data.size(0);
  if (rows.train.data.size(0) < 2) {
    throw InputError(fmt::format("{}: expected at least 2 rows, found {}",
                                 request.table, rows.train.data.size(0)));
  }
  check_spread(rows.train.data, rows.columns, request.table);
  if (!request.group.empty()) {
    check_several_blocks(number_blocks(rows.train.labels), request.table,
                         request.group);
  }
  if (!request.relationship.empty()) {
    auto relationship = read_relationship({.path = request.relationship,
                                           .ids = request.relationship_ids,
                                           .scale = request.relationship_scale},
                                          rows.train, request.table);
    rows.relationship = std::move(relationship.matrix);
    rows.relationship_note = std::move(relationship.note);
  }

  if (!request.valid_table.empty()) {
    auto scored = choice;
    scored.group.clear();
    scored.time.clear();
    scored.id.clear();
    rows.valid = read_rows(request.valid_table, scored);
  } else {
    const auto parts = split_rows(rows.train, request, seed);
    rows.valid = select(rows.train, parts.valid);
    rows.train = select(rows.train, parts.train);
    if (rows.relationship.defined()) {
      const auto part_of = [&](const std::vector<std::int64_t>& part) {
        const auto index = at::tensor(part, at::kLong);
        return rows.relationship.index_select(0, index).index_select(1, index);
      };
      rows.valid_relationship = part_of(parts.valid);
      rows.relationship = part_of(parts.train);
    }
    if (rows.train.data.size(0) < 2) {
      throw InputError(
          fmt::format("{}: expected at least 2 training rows, found {} after "
                      "the split; give other rows with --valid",
                      request.table, rows.train.data.size(0)));
    }
    check_spread(rows.train.data, rows.columns, request.table);
  }
  if (rows.train.context.defined()) {
    check_spread(rows.train.context, request.context, request.table);
  }
  return rows;
}

}  // namespace kinflow
