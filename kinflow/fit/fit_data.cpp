// Reading, checking and splitting the rows of a fit.
#include "kinflow/fit/fit_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/check_columns.h"
#include "kinflow/data/column_names.h"
#include "kinflow/data/compare_scale.h"
#include "kinflow/data/shared_rows.h"
#include "kinflow/data/table.h"
#include "kinflow/fit/row_warnings.h"
#include "kinflow/flow/standardization.h"
#include "kinflow/statistics/normal_quantile.h"

namespace kinflow {
namespace {

[[noreturn]] void fail_for_two_roles(const std::string& column, const std::string& one,
                                     const std::string& other,
                                     const std::string& table) {
  throw InputError(
      fmt::format("{}: column {}: expected one role, found it both in {} and in {}",
                  table, in_quotes(column), one, other));
}

// A column that is not modelled must not be among those that are.
void check_one_role(const std::string& column, const std::string& option,
                    const std::vector<std::string>& modelled,
                    const std::string& table) {
  if (std::find(modelled.begin(), modelled.end(), column) == modelled.end()) return;
  fail_for_two_roles(column, option, "--columns", table);
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
                          name == request.dependence.time || name == request.fold_by ||
                          is_among(request.context) || is_among(request.dependence.id);
    if (!has_role) columns.push_back(name);
  }
  return columns;
}

// The columns in which -9 is or would be one of the numbers that the table holds.
std::vector<std::string> columns_around_minus_nine(
    const Array& rows, const std::vector<std::string>& names) {
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
    const auto of_context = columns_around_minus_nine(
        rows.train.context, expanded_names(request.context, rows.train.context_levels));
    rule.value_columns.insert(rule.value_columns.end(), of_context.begin(),
                              of_context.end());
  }
  return rule;
}

// Rows that a flow has learned from tell nothing of it, and would choose the flow that
// has learned them by heart.
void check_other_rows(const DataRequest& request, FitRows& rows) {
  const auto found = find_shared_rows(row_hashes(rows.valid), row_hashes(rows.train));
  const auto count = rows.valid.data.size(0);
  if ((found.are_all_the_same || found.are_all_shared) && count > 1) {
    throw InputError(fmt::format(
        "--valid: expected other rows than those of the training table {}, found {} {} "
        "rows {} {}; without --valid a part of the table is held out",
        request.table, found.are_all_the_same ? "the same" : "all", count,
        found.are_all_the_same ? "in" : "of", request.valid_table));
  }
  if (found.shared == 0 || !found.are_more_than_chance) return;
  rows.warnings.push_back(fmt::format(
      "{}: {} of {} stand in the training table too, with the same values: the "
      "validation NLL is too low, and favours flows that learn rows by heart",
      request.valid_table, found.shared, counted(count, "validation row")));
}

// Rows in other units would choose a wrong flow, and place its latents wrongly.
void check_scale_of_valid(const DataRequest& request, FitRows& rows) {
  const auto scale = Standardization::from(rows.train.data);
  std::vector<UsualColumn> usual;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i);
    usual.push_back({.name = rows.columns[i],
                     .mean = scale.mean[column].item<double>(),
                     .deviation = scale.deviation[column].item<double>(),
                     .spread_counts = true});
  }
  const auto columns = compare_scale(
      columns_view(rows.valid.data, rows.columns, request.valid_table), usual);
  const auto far = far_columns(columns, usual);
  if (!far.empty()) {
    throw InputError(
        fmt::format("{}: expected validation rows in the units of the training rows, "
                    "found that {}",
                    request.valid_table, far.front()));
  }
  for (const auto& text : narrow_columns(columns, usual)) {
    rows.warnings.push_back(request.valid_table + ": " + text +
                            "; are they in other units?");
  }
}

void check_several_times(const TableRows& rows, const DataRequest& request) {
  const auto& times = rows.times.values;
  const bool differ = std::any_of(times.begin(), times.end(),
                                  [&](double time) { return time != times.front(); });
  if (differ) return;
  throw InputError(
      fmt::format("{}: column {}: expected times that differ, found one in all rows",
                  request.table, in_quotes(request.dependence.time)));
}

void check_allowed_ties(const DataRequest& request,
                        const std::vector<std::string>& modelled) {
  for (const auto& name : request.allow_ties) {
    if (std::find(modelled.begin(), modelled.end(), name) != modelled.end()) continue;
    throw InputError("--allow-ties: expected columns that are modelled, found " +
                     in_quotes(name));
  }
}

// The columns do not follow from each other, nor from the context, given which they
// would have no density.
void check_none_follows(const DataRequest& request, FitRows& rows) {
  auto data = rows.train.data;
  auto names = rows.columns;
  std::size_t known = 0;
  if (rows.train.context.defined()) {
    const auto [context, of_context] = context_of_numbers(rows.train, request.context);
    known = of_context.size();
    names.insert(names.begin(), of_context.begin(), of_context.end());
    if (known > 0) data = nd::cat({context, data}, 1);
  }
  const auto monotone =
      check_redundancy(columns_view(data, names, request.table), known, "--context");
  for (const auto& text : monotone) {
    rows.warnings.push_back(fmt::format(
        "{}: {}; where it follows from it exactly, the density has no upper bound",
        request.table, text));
  }
}

// Whether a flow can learn the rows of the training table.
void check_modelled(const DataRequest& request, const FlowOptions& flow,
                    FitRows& rows) {
  const auto columns = columns_view(rows.train.data, rows.columns, request.table);
  check_spread(columns);
  if (request.columns.empty()) {
    LabelRule rule;
    if (!rows.train.labels.empty()) {
      rule.block_of_row = number_blocks(rows.train.labels).block_of_row;
    }
    check_no_labels(columns, rule);
  }
  check_none_follows(request, rows);
  check_ties(columns, {.share = least_tied_share(flow),
                       .allowed = request.allow_ties,
                       .advice = "leave them out (--columns), condition on them "
                                 "(--context), add noise of the size of their steps"});
}

// Columns without bounds that are always positive, and of which a normal distribution
// would be negative now and then.
std::string hint_on_positive(const FitRows& rows) {
  constexpr double kNegativeShare = 0.001;
  constexpr std::size_t kMostNamed = 10;
  const auto& data = rows.train.data;
  const auto scale = Standardization::from(data);
  const auto least = data.amin(0);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    const bool is_bounded =
        !rows.train.bounds.empty() && rows.train.bounds[i] != ColumnBounds{};
    const auto at = static_cast<std::int64_t>(i);
    if (is_bounded || least[at].item<double>() <= 0) continue;
    const double zero = -(scale.mean[at] / scale.deviation[at]).item<double>();
    if (zero > normal_quantile(kNegativeShare)) found.push_back(rows.columns[i]);
  }
  if (found.empty()) return "";
  const bool is_one = found.size() == 1;
  const auto columns = in_quotes(found, kMostNamed);
  const bool is_cut = found.size() > kMostNamed;
  if (is_cut) found.resize(kMostNamed);
  return fmt::format(
      "note: {} {} positive in all {} rows; --positive {}{} keeps draws "
      "above 0",
      (is_one ? "column " : "columns ") + columns, is_one ? "is" : "are", data.size(0),
      join_names(found), is_cut ? ",..." : "");
}

}  // namespace

FitRows read_fit_rows(const DataRequest& request, const FlowOptions& flow) {
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
  check_one_role(request.fold_by, "--fold-by", rows.columns, request.table);
  for (const auto& column : dependence.id) {
    check_one_role(column, "--id", rows.columns, request.table);
  }
  check_allowed_ties(request, rows.columns);
  for (const auto& bounded : request.bounds) table.column_index(bounded.column);
  const ColumnChoice choice{.columns = rows.columns,
                            .context = request.context,
                            .finds_levels = true,
                            .group = dependence.group,
                            .time = dependence.time,
                            .fold_by = request.fold_by,
                            .drop_missing = request.drop_missing,
                            .id = dependence.id,
                            .minus_nine = {.meaning = request.minus_nine},
                            .bounds = bounds_for(request.bounds, rows.columns)};
  rows.train = read_rows(table, choice);
  rows.minus_nine = rule_for_further_rows(request, rows);
  // The groups of new rows are none that a flow has seen.
  if (rows.train.context_levels.contains(dependence.group)) {
    fail_for_two_roles(dependence.group, "--group", "--context", request.table);
  }
  rows.dropped_rows = table.rows() - rows.train.data.size(0);
  if (rows.train.data.size(0) < 2) {
    throw InputError(fmt::format("{}: expected at least 2 rows, found {}",
                                 request.table, rows.train.data.size(0)));
  }
  check_modelled(request, flow, rows);
  const auto about_rows = warnings_about_rows(request, rows, table);
  rows.warnings.insert(rows.warnings.end(), about_rows.begin(), about_rows.end());
  rows.hint = hint_on_positive(rows);
  if (!dependence.time.empty()) check_several_times(rows.train, request);
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
    scored.fold_by.clear();
    scored.id.clear();
    scored.minus_nine = rows.minus_nine;
    scored.finds_levels = false;
    scored.context_levels = rows.train.context_levels;
    const auto valid = read_table(request.valid_table);
    rows.valid = read_rows(valid, scored);
    rows.has_valid_table = true;
    check_other_rows(request, rows);
    check_scale_of_valid(request, rows);
    const auto more = warnings_about_valid_rows(request, rows, valid);
    rows.warnings.insert(rows.warnings.end(), more.begin(), more.end());
  }
  return rows;
}

void check_row_count(const DataRequest& request, const FitRows& rows) {
  if (rows.train.data.size(0) >= 2) return;
  throw InputError(
      fmt::format("{}: expected at least 2 training rows, found {} after some were "
                  "held out; give other rows with --valid",
                  request.table, rows.train.data.size(0)));
}

void check_training_rows(const DataRequest& request, const FitRows& rows) {
  check_row_count(request, rows);
  check_spread(columns_view(rows.train.data, rows.columns, request.table));
  if (!rows.train.context.defined()) return;
  check_spread(columns_view(rows.train.context,
                            expanded_names(request.context, rows.train.context_levels),
                            request.table));
}

std::int64_t folds_of(const DataRequest& request, const FitRows& rows) {
  if (rows.has_valid_table) return 1;
  if (request.folds > 0) return request.folds;
  const bool is_dense = std::any_of(
      rows.relations.relationships.begin(), rows.relations.relationships.end(),
      [](const RelationshipFile& file) { return !file.is_sparse(); });
  return is_dense && rows.relations.rows > kManyDenseRows ? 1 : kDefaultFolds;
}

}  // namespace kinflow
