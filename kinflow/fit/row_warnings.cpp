// Far values, repeated rows and doubtful groups.
#include "kinflow/fit/row_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_map>

#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/random.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/table.h"

namespace kinflow {
namespace {

using Warnings = std::vector<std::string>;

std::string place_of(const Table& table, const TableRows& rows, std::int64_t row) {
  const auto line = table.line_of_row(rows.kept_rows[static_cast<std::size_t>(row)]);
  return fmt::format("{}:{}", table.source(), line);
}

void add_far_values(const ColumnsView& columns, const TableRows& rows,
                    const Table& table, Warnings& warnings) {
  for (const auto& far : far_values(columns)) {
    warnings.push_back(describe(far, columns, place_of(table, rows, far.row)));
  }
}

// Of the data and of the context that is numbers.
void add_far_values(const FitRows& fit, const std::vector<std::string>& context_columns,
                    const TableRows& rows, const Table& table, Warnings& warnings) {
  add_far_values(columns_view(rows.data, fit.columns, table.source()), rows, table,
                 warnings);
  if (!rows.context.defined()) return;
  const auto [context, names] = context_of_numbers(rows, context_columns);
  if (names.empty()) return;
  add_far_values(columns_view(context, names, table.source()), rows, table, warnings);
}

std::string date_of(double days) {
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(std::floor(days))))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

void add_far_times(const std::string& column, const TableRows& rows, const Table& table,
                   Warnings& warnings) {
  const auto& times = rows.times;
  const ColumnsView view{.source = table.source(),
                         .names = {column},
                         .rows = static_cast<std::int64_t>(times.values.size()),
                         .values = times.values.data(),
                         .row_stride = 1,
                         .column_stride = 1};
  for (const auto& far : far_values(view)) {
    const auto place = place_of(table, rows, far.row);
    warnings.push_back(
        times.are_dates
            ? fmt::format(
                  "{}: column {}: {} lies far from all other dates (80% of them are "
                  "between {} and {}); is it a mistake, or a code "
                  "for a missing value?",
                  place, in_quotes(column), date_of(far.value), date_of(far.low),
                  date_of(far.high))
            : describe(far, view, place));
  }
}

struct Repeats {
  std::int64_t count = 0;           ///< rows that are equal to an earlier one
  std::int64_t row = 0, first = 0;  ///< the first of them, and the one that it repeats
};

Repeats repeats_among(const Array& data) {
  Repeats repeats;
  std::unordered_map<std::uint64_t, std::int64_t> first_row;
  std::int64_t row = 0;
  for (const auto hash : row_hashes({.data = data})) {
    const auto [found, is_new] = first_row.emplace(hash, row);
    if (!is_new && ++repeats.count == 1) {
      repeats.row = row;
      repeats.first = found->second;
    }
    ++row;
  }
  return repeats;
}

// Rows of rounded columns repeat by chance: about as often as rows whose first column
// is that of other rows.
void add_repeated_rows(const DataRequest& request, const TableRows& rows,
                       const Table& table, Warnings& warnings) {
  constexpr double kManyShare = 0.05, kMoreThanChance = 4;
  constexpr std::int64_t kMany = 5;
  if (rows.data.size(1) < 2 || !request.allow_ties.empty()) return;
  const auto repeats = repeats_among(rows.data);
  const auto count = static_cast<double>(repeats.count);
  const auto n = rows.data.size(0);
  if (repeats.count < kMany || count < kManyShare * static_cast<double>(n)) return;
  auto others = rows.data.clone();
  Random random(0);
  others.select(1, 0).copy_(rows.data.select(1, 0).index_select(
      0, nd::tensor(random.permutation(n), nd::kLong)));
  const auto by_chance = static_cast<double>(repeats_among(others).count);
  if (count < kMoreThanChance * by_chance) return;
  warnings.push_back(fmt::format(
      "{}: this row repeats line {} in all modelled columns, as {} of {} rows repeat "
      "an "
      "earlier one; copies count as further observations",
      place_of(table, rows, repeats.row),
      table.line_of_row(rows.kept_rows[static_cast<std::size_t>(repeats.first)]),
      repeats.count, n));
}

// A label such as "unknown" makes one group of rows that have nothing in common.
void add_catch_all_group(const std::string& column, const TableRows& rows,
                         const Table& table, Warnings& warnings) {
  constexpr double kLargeShare = 0.3, kMoreThanNext = 10;
  constexpr double kNamedShare = 0.05, kNamedMoreThanNext = 3, kNamedRows = 10;
  constexpr std::array kNames = {"0",    "-1",    "-",       "?",      "none",
                                 "misc", "other", "unknown", "missing"};
  const auto blocks = number_blocks(rows.labels);
  auto sizes = blocks.size_of_block;
  if (sizes.size() < 3) return;
  const auto largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
  const auto& label = blocks.label_of_block[static_cast<std::size_t>(largest)];
  std::ranges::partial_sort(sizes, sizes.begin() + 2, std::greater());
  const auto size = static_cast<double>(sizes[0]);
  auto lower = label;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  const bool is_named = std::ranges::find(kNames, lower) != kNames.end();
  const double ratio = size / static_cast<double>(sizes[1]);
  const double share = size / static_cast<double>(rows.labels.size());
  const bool is_doubtful = is_named ? size >= kNamedRows && share >= kNamedShare &&
                                          ratio >= kNamedMoreThanNext
                                    : share >= kLargeShare && ratio >= kMoreThanNext;
  if (!is_doubtful) return;
  warnings.push_back(fmt::format(
      "{}: group {} of column {} has {} of the {} rows, the next largest {}; if this "
      "label stands for unknown groups, give each of its rows a label of its own",
      table.source(), in_quotes(label), in_quotes(column), sizes[0], rows.labels.size(),
      sizes[1]));
}

}  // namespace

Warnings warnings_about_rows(const DataRequest& request, const FitRows& rows,
                             const Table& table) {
  Warnings warnings;
  add_far_values(rows, request.context, rows.train, table, warnings);
  if (!rows.train.times.values.empty()) {
    add_far_times(request.dependence.time, rows.train, table, warnings);
  }
  add_repeated_rows(request, rows.train, table, warnings);
  if (!rows.train.labels.empty()) {
    add_catch_all_group(request.dependence.group, rows.train, table, warnings);
  }
  return warnings;
}

Warnings warnings_about_valid_rows(const DataRequest& request, const FitRows& rows,
                                   const Table& table) {
  Warnings warnings;
  add_far_values(rows, request.context, rows.valid, table, warnings);
  const auto& group = request.dependence.group;
  const auto& names = table.names();
  if (group.empty() || std::find(names.begin(), names.end(), group) == names.end()) {
    return warnings;
  }
  std::set<std::string> known;
  for (const auto& label : rows.train.labels) known.insert(label_key(label));
  std::int64_t shared = 0;
  const auto cells = cell_texts(table, group);
  for (const auto row : rows.valid.kept_rows) {
    shared += static_cast<std::int64_t>(
        known.count(label_key(cells[static_cast<std::size_t>(row)])));
  }
  if (shared == 0) return warnings;
  warnings.push_back(fmt::format(
      "{}: {} of {} belong to groups of the training table (column {}), and are taken "
      "as "
      "independent of them; validation rows of other groups are needed, or none: then "
      "whole groups are held out",
      table.source(), shared, counted(rows.valid.kept_rows.size(), "validation row"),
      in_quotes(group)));
  return warnings;
}

}  // namespace kinflow
