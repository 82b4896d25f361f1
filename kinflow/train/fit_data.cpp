// Reading, checking and splitting the rows of a fit.
#include "kinflow/train/fit_data.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/shared_rows.h"
#include "kinflow/data/table.h"

namespace kinflow {
namespace {

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
    const bool has_role = name == request.dependence.group ||
                          name == request.dependence.time ||
                          is_among(request.context) || is_among(request.dependence.id);
    if (!has_role) columns.push_back(name);
  }
  return columns;
}

Split split_rows(const TableRows& rows, const DataRequest& request,
                 std::uint64_t seed) {
  SplitOptions options{.by = request.split_by.value_or(SplitBy::rows),
                       .valid_fraction = request.valid_fraction,
                       .seed = seed};
  if (options.by == SplitBy::group) {
    options.block_of_row = number_blocks(rows.labels).block_of_row;
  } else if (options.by == SplitBy::time) {
    options.time_of_row = rows.times.values;
  }
  return split(rows.data.size(0), options);
}

// The columns in which -9 is or would be one of the numbers that the table holds.
std::vector<std::string> columns_around_minus_nine(
    const at::Tensor& rows, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto column = rows.select(1, static_cast<std::int64_t>(i)).contiguous();
    if (minus_nine_is_plainly_a_value(
            {column.data_ptr<double>(), static_cast<std::size_t>(column.numel())})) {
      found.push_back(names[i]);
    }
  }
  return found;
}

// What -9 stands for in further tables, as this one shows it.
MinusNineRule rule_for_further_rows(const DataRequest& request, const FitRows& rows) {
  MinusNineRule rule{.meaning = request.minus_nine, .content_decides = false};
  if (rule.meaning != MinusNine::careful) return rule;
  rule.value_columns = columns_around_minus_nine(rows.train.data, rows.columns);
  if (rows.train.context.defined()) {
    const auto of_context =
        columns_around_minus_nine(rows.train.context, request.context);
    rule.value_columns.insert(rule.value_columns.end(), of_context.begin(),
                              of_context.end());
  }
  return rule;
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

// Rows that a flow has learned from tell nothing of it, and would choose the flow that
// has learned them by heart.
void check_other_rows(const DataRequest& request, FitRows& rows) {
  const auto found = find_shared_rows(row_hashes(rows.valid), row_hashes(rows.train));
  const auto count = rows.valid.data.size(0);
  if (found.are_all_the_same && count > 1) {
    throw InputError(fmt::format(
        "--valid: expected other rows than those of the training table {}, found the "
        "same {} rows in {}; without --valid a part of the table is held out",
        request.table, count, request.valid_table));
  }
  if (found.shared == 0 || !found.are_more_than_chance) return;
  rows.warnings.push_back(fmt::format(
      "{}: {} of {} stand in the training table too, with the same values: the "
      "validation NLL is too low, and favours flows that learn rows by heart",
      request.valid_table, found.shared, counted(count, "validation row")));
}

}  // namespace

void hold_out(const DataRequest& request, std::uint64_t seed, FitRows& rows) {
  const auto parts = split_rows(rows.train, request, seed);
  rows.valid = select_rows(rows.train, parts.valid);
  rows.train = select_rows(rows.train, parts.train);
  rows.valid_relations = select_rows(rows.relations, parts.valid);
  auto notes = std::move(rows.relations.notes);
  rows.relations = select_rows(rows.relations, parts.train);
  rows.relations.notes = std::move(notes);
}

FitRows read_fit_rows(const DataRequest& request, std::uint64_t seed) {
  const auto table = read_table(request.table);
  FitRows rows;
  rows.columns =
      request.columns.empty() ? remaining_columns(table, request) : request.columns;
  if (rows.columns.empty()) {
    throw InputError(request.table + ": expected at least one data column, found none");
  }
  const auto& dependence = request.dependence;
  check_one_role(dependence.group, "--group", rows.columns, request.table);
  if (dependence.time_kernel) {
    check_one_role(dependence.time, "--time", rows.columns, request.table);
  }
  for (const auto& column : dependence.id) {
    check_one_role(column, "--id", rows.columns, request.table);
  }
  const ColumnChoice choice{.columns = rows.columns,
                            .context = request.context,
                            .group = dependence.group,
                            .time = dependence.time,
                            .drop_missing = request.drop_missing,
                            .id = dependence.id,
                            .minus_nine = {.meaning = request.minus_nine}};
  rows.train = read_rows(table, choice);
  rows.minus_nine = rule_for_further_rows(request, rows);
  rows.dropped_rows = table.rows() - rows.train.data.size(0);
  if (rows.train.data.size(0) < 2) {
    throw InputError(fmt::format("{}: expected at least 2 rows, found {}",
                                 request.table, rows.train.data.size(0)));
  }
  check_spread(rows.train.data, rows.columns, request.table);
  if (!dependence.group.empty()) {
    check_several_blocks(number_blocks(rows.train.labels), request.table,
                         dependence.group);
  }
  rows.relations =
      read_relations(dependence, rows.train, request.table, request.minus_nine);

  if (!request.valid_table.empty()) {
    auto scored = choice;
    scored.group.clear();
    scored.time.clear();
    scored.id.clear();
    scored.minus_nine = rows.minus_nine;
    rows.valid = read_rows(request.valid_table, scored);
    rows.has_valid_table = true;
    check_other_rows(request, rows);
  } else {
    hold_out(request, seed, rows);
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
