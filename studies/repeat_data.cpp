// Reads the tables and splits their groups.
#include "studies/repeat_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/random.h"
#include "kinflow/core/size.h"

namespace kinflow {
namespace {

constexpr double kHeldOut = 0.3;  // of the groups

const std::vector<std::string> kLabs = {"bili", "albumin", "ast", "platelet",
                                        "protime"};

Array logarithms(const TableRows& rows, const Table& table,
                 const std::vector<std::string>& columns) {
  const auto wrong = rows.data.le(0).nonzero();
  if (wrong.size(0) > 0) {
    const auto row = wrong[0][0].item<std::int64_t>(),
               column = wrong[0][1].item<std::int64_t>();
    throw InputError(fmt::format(
        "{}:{}: column {}: expected a number above 0, of which the logarithm is taken, "
        "found {}",
        table.source(), table.line_of_row(rows.kept_rows[to_size(row)]),
        in_quotes(columns[to_size(column)]), rows.data[row][column].item<double>()));
  }
  return rows.data.log();
}

// Rows of the same group in time, or in random order.
std::vector<std::int64_t> ordered_rows(const TableRows& rows,
                                       const std::vector<std::int64_t>& group_of_row,
                                       std::uint64_t seed) {
  auto order = Random(seed, stream(Purpose::split, 1))
                   .permutation(static_cast<std::int64_t>(group_of_row.size()));
  const auto& times = rows.times.values;
  if (!times.empty()) std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const auto group_a = group_of_row[to_size(a)], group_b = group_of_row[to_size(b)];
    if (group_a != group_b || times.empty()) return group_a < group_b;
    return times[to_size(a)] < times[to_size(b)];
  });
  return order;
}

}  // namespace

const std::vector<RepeatTable>& repeat_tables() {
  static const std::vector<RepeatTable> tables = {{.name = "pbcseq-logs",
                                                   .title = "pbcseq, logarithms",
                                                   .file = "pbcseq.csv",
                                                   .group = "id",
                                                   .columns = kLabs,
                                                   .time = "day",
                                                   .takes_logarithms = true},
                                                  {.name = "pbcseq",
                                                   .title = "pbcseq",
                                                   .file = "pbcseq.csv",
                                                   .group = "id",
                                                   .columns = kLabs,
                                                   .time = "day"},
                                                  {.name = "mathachieve",
                                                   .title = "MathAchieve",
                                                   .file = "mathachieve.csv",
                                                   .group = "School",
                                                   .columns = {"SES", "MathAch"},
                                                   .time = ""}};
  return tables;
}

std::vector<RepeatTable> chosen_repeat_tables(const std::vector<std::string>& names) {
  if (names.empty()) return repeat_tables();
  std::vector<std::string> known;
  for (const auto& table : repeat_tables()) known.push_back(table.name);
  for (const auto& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw InputError(fmt::format("--tables: expected some of {}, found {}",
                                 fmt::join(known, ", "), in_quotes(name)));
  }
  std::vector<RepeatTable> chosen;
  for (const auto& table : repeat_tables()) {
    if (std::find(names.begin(), names.end(), table.name) != names.end()) {
      chosen.push_back(table);
    }
  }
  return chosen;
}

TableRows read_repeats(const RepeatTable& table, const std::string& folder) {
  const auto path = folder + "/" + table.file;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw InputError(fmt::format(
        "--data: expected a folder with {} (columns {}, {}{}{}), found none in '{}'",
        table.file, table.group, table.time, table.time.empty() ? "" : ", ",
        fmt::join(table.columns, ", "), folder));
  }
  const auto read = read_table(path);
  auto rows = read_rows(
      read, {.columns = table.columns, .group = table.group, .time = table.time});
  if (table.takes_logarithms) rows.data = logarithms(rows, read, table.columns);
  return rows;
}

RepeatSplit split_repeats(const TableRows& rows, std::uint64_t seed,
                          const std::string& source) {
  const auto groups = number_blocks(rows.labels);
  const auto count = std::ssize(groups.size_of_block);
  const auto held_out =
      static_cast<std::int64_t>(kHeldOut * static_cast<double>(count));
  const auto order = Random(seed, stream(Purpose::split)).permutation(count);
  std::vector<bool> is_held_out(to_size(count), false);
  for (std::int64_t i = 0; i < held_out; ++i) {
    is_held_out[to_size(order[to_size(i)])] = true;
  }
  RepeatSplit split;
  std::vector<std::int64_t> seen(to_size(count), 0);
  for (const auto row : ordered_rows(rows, groups.block_of_row, seed)) {
    const auto group = to_size(groups.block_of_row[to_size(row)]);
    if (!is_held_out[group]) continue;
    const auto size = groups.size_of_block[group];
    if (size < 2) continue;
    const auto first_next = rows.times.values.empty() ? size / 2 : size - 1;
    split.test.push_back(row);
    (seen[group]++ < first_next ? split.given : split.next).push_back(row);
  }
  for (std::size_t row = 0; row < groups.block_of_row.size(); ++row) {
    if (is_held_out[to_size(groups.block_of_row[row])]) continue;
    split.train.push_back(static_cast<std::int64_t>(row));
  }
  if (split.test.empty()) {
    throw InputError(fmt::format(
        "{}: expected groups of several rows among the {} of {} that are held out, "
        "found none",
        source, held_out, count));
  }
  return split;
}

}  // namespace kinflow
