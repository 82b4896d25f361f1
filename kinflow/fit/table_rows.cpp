// Reading, selecting and joining rows.
#include "kinflow/fit/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"

namespace kinflow {
namespace {

template <typename Value>
std::vector<Value> select_values(const std::vector<Value>& values,
                                 const std::vector<std::int64_t>& chosen) {
  std::vector<Value> part;
  if (values.empty()) return part;
  part.reserve(chosen.size());
  for (const auto row : chosen) part.push_back(values[static_cast<std::size_t>(row)]);
  return part;
}

template <typename Value>
std::vector<Value> append_values(std::vector<Value> first,
                                 const std::vector<Value>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void check_within_bounds(const Table& table, const std::vector<std::string>& columns,
                         const TableRows& rows) {
  for (std::size_t j = 0; j < rows.bounds.size(); ++j) {
    const auto values = rows.data.select(1, static_cast<std::int64_t>(j)).contiguous();
    const auto* first = values.data_ptr<double>();
    const auto* end = first + values.numel();
    const auto* outside = std::find_if(
        first, end, [&](double value) { return !rows.bounds[j].contain(value); });
    if (outside == end) continue;
    throw InputError(fmt::format(
        "{}:{}: column {}: expected a number {}, found {}; on its bounds and beyond "
        "them a column has density 0",
        table.source(),
        table.line_of_row(rows.kept_rows[static_cast<std::size_t>(outside - first)]),
        in_quotes(columns[j]), rows.bounds[j].in_words(), *outside));
  }
}

}  // namespace

TableRows read_rows(const Table& table, const ColumnChoice& choice) {
  std::set<std::string> categories;
  for (const auto& column : choice.context) {
    const bool is_text = choice.finds_levels ? holds_categories(table, column)
                                             : choice.context_levels.contains(column);
    if (!is_text || categories.insert(column).second) continue;
    throw InputError(fmt::format("{}: expected different columns, found {} twice",
                                 table.source(), in_quotes(column)));
  }
  auto names = choice.columns;
  for (const auto& column : choice.context) {
    if (!categories.contains(column)) names.push_back(column);
  }
  NumericMatrixOptions options{
      .missing = choice.drop_missing ? MissingPolicy::drop : MissingPolicy::refuse,
      .id_columns = choice.id,
      .minus_nine = choice.minus_nine,
      .may_drop_all = choice.may_drop_all};
  for (const auto& column : {choice.group, choice.time, choice.fold_by}) {
    if (!column.empty()) options.label_columns.push_back(column);
  }
  options.label_columns.insert(options.label_columns.end(), categories.begin(),
                               categories.end());
  auto matrix = numeric_matrix(table, names, options);

  const auto values = nd::from_blob(
      matrix.values.data(), {matrix.rows, static_cast<std::int64_t>(names.size())},
      nd::kDouble);
  const auto data_width = static_cast<std::int64_t>(choice.columns.size());
  TableRows rows{
      .data = values.narrow(1, 0, data_width).clone(nd::MemoryFormat::Contiguous),
      .context_levels = choice.context_levels,
      .kept_rows = std::move(matrix.kept_rows),
      .table_rows = table.rows(),
      .first_row = table.first_row(),
      .bounds = choice.bounds};
  check_within_bounds(table, choice.columns, rows);
  std::vector<Array> context;
  auto next_number = data_width;
  for (const auto& column : choice.context) {
    if (!categories.contains(column)) {
      context.push_back(values.narrow(1, next_number++, 1));
      continue;
    }
    auto& levels = rows.context_levels[column];
    if (choice.finds_levels) {
      levels = find_levels(table, column, labels(table, column, rows.kept_rows));
    }
    context.push_back(
        nd::tensor(indicators(table, column, levels, rows.kept_rows), nd::kDouble)
            .view({matrix.rows, static_cast<std::int64_t>(levels.size()) - 1}));
  }
  if (!context.empty()) rows.context = nd::cat(context, 1).contiguous();
  if (!choice.group.empty()) rows.labels = labels(table, choice.group, rows.kept_rows);
  if (!choice.fold_by.empty()) {
    rows.fold_labels = labels(table, choice.fold_by, rows.kept_rows);
  }
  if (!choice.time.empty()) rows.times = times(table, choice.time, rows.kept_rows);
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

ColumnsView columns_view(const Array& rows, const std::vector<std::string>& names,
                         const std::string& source) {
  return {.source = source,
          .names = names,
          .rows = rows.size(0),
          .values = rows.data_ptr<double>(),
          .row_stride = rows.stride(0),
          .column_stride = rows.stride(1)};
}

std::pair<Array, std::vector<std::string>> context_of_numbers(
    const TableRows& rows, const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  std::vector<std::int64_t> places;
  const auto expanded = expanded_names(columns, rows.context_levels);
  for (std::size_t i = 0; i < expanded.size(); ++i) {
    const bool is_number =
        std::find(columns.begin(), columns.end(), expanded[i]) != columns.end();
    if (!is_number) continue;
    names.push_back(expanded[i]);
    places.push_back(static_cast<std::int64_t>(i));
  }
  if (names.empty()) return {};
  return {rows.context.index_select(1, nd::tensor(places, nd::kLong)).contiguous(),
          names};
}

TableRows select_rows(const TableRows& rows, const std::vector<std::int64_t>& chosen) {
  const auto index = nd::tensor(chosen, nd::kLong);
  return {
      .data = rows.data.index_select(0, index),
      .context = rows.context.defined() ? rows.context.index_select(0, index) : Array(),
      .context_levels = rows.context_levels,
      .labels = select_values(rows.labels, chosen),
      .fold_labels = select_values(rows.fold_labels, chosen),
      .times = {select_values(rows.times.values, chosen), rows.times.are_dates},
      .ids = select_values(rows.ids, chosen),
      .kept_rows = select_values(rows.kept_rows, chosen),
      .table_rows = rows.table_rows,
      .bounds = rows.bounds};
}

std::vector<std::uint64_t> row_hashes(const TableRows& rows) {
  auto numbers =
      rows.context.defined() ? nd::cat({rows.data, rows.context}, 1) : rows.data;
  // -0 becomes 0.
  numbers = (numbers + 0.0).contiguous();
  const auto width = static_cast<std::size_t>(numbers.size(1)) * sizeof(double);
  const auto* bytes = reinterpret_cast<const char*>(numbers.data_ptr<double>());
  std::vector<std::uint64_t> hashes;
  for (std::int64_t row = 0; row < numbers.size(0); ++row, bytes += width) {
    hashes.push_back(std::hash<std::string_view>()({bytes, width}));
  }
  return hashes;
}

TableRows append_rows(const TableRows& first, const TableRows& second) {
  if (first.times.are_dates != second.times.are_dates) {
    throw InputError(
        "--time: expected dates in both tables or numbers in both, found dates in one");
  }
  TableRows both{.data = nd::cat({first.data, second.data}),
                 .context = first.context.defined()
                                ? nd::cat({first.context, second.context})
                                : Array(),
                 .context_levels = first.context_levels,
                 .labels = append_values(first.labels, second.labels),
                 .times = {append_values(first.times.values, second.times.values),
                           first.times.are_dates},
                 .ids = append_values(first.ids, second.ids),
                 .kept_rows = first.kept_rows,
                 .table_rows = first.table_rows + second.table_rows,
                 .bounds = first.bounds};
  for (const auto row : second.kept_rows) {
    both.kept_rows.push_back(first.table_rows + row);
  }
  return both;
}

}  // namespace kinflow
