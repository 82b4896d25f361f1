// Reading columns of a table as labels and as times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/row_reader.h"
#include "kinflow/data/table.h"

namespace kinflow {

namespace {

[[noreturn]] void fail_at(const Table& table, std::int64_t row,
                          const std::string& column, const std::string& what) {
  throw InputError(fmt::format("{}:{}: column {}: {}", table.source(),
                               table.line_of_row(row), in_quotes(column), what));
}

template <typename Cell>
std::string printable_text(const Table& table, std::int64_t row,
                           const std::string& column, Cell cell) {
  auto text = cell_text(cell);
  if (is_printable_utf8(text)) return text;
  fail_at(table, row, column,
          "expected a label of UTF-8 text, found " + in_quotes(text));
}

// Whether all are dates without hyphens, or months.
bool are_dates_without_hyphens(const std::vector<double>& values) {
  return std::ranges::all_of(values, is_date_without_hyphens) ||
         std::ranges::all_of(values, is_month_without_hyphen);
}

std::vector<std::int64_t> all_rows(const Table& table) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

}  // namespace

std::vector<std::string> labels(const Table& table, const std::string& column,
                                const std::vector<std::int64_t>& rows) {
  const RowReader reader(table, {table.column_index(column)});
  std::vector<std::string> result;
  result.reserve(rows.size());
  for (const std::int64_t row : rows) {
    reader.read(row, [&](int, auto cell) {
      if (is_missing(cell)) {
        fail_at(table, row, column, "expected a label, found a missing value");
      }
      result.push_back(printable_text(table, row, column, cell));
    });
  }
  return result;
}

std::vector<std::string> labels(const Table& table, const std::string& column) {
  return labels(table, column, all_rows(table));
}

std::vector<std::string> cell_texts(const Table& table, const std::string& column) {
  const RowReader reader(table, {table.column_index(column)});
  std::vector<std::string> result;
  result.reserve(static_cast<std::size_t>(table.rows()));
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    reader.read(row, [&](int, auto cell) {
      result.push_back(printable_text(table, row, column, cell));
    });
  }
  return result;
}

TimeColumn times(const Table& table, const std::string& column,
                 const std::vector<std::int64_t>& rows) {
  const RowReader reader(table, {table.column_index(column)});
  TimeColumn result;
  result.values.reserve(rows.size());
  for (const std::int64_t row : rows) {
    reader.read(row, [&](int, auto cell) {
      double number = 0;
      const bool is_number = cell_number(cell, number) == CellKind::number;
      const auto date = is_number ? std::nullopt : read_date(cell_text(cell));
      // The first row decides, so that a column does not mix both.
      if (result.values.empty()) result.are_dates = date.has_value();
      if (result.are_dates ? !date : !is_number) {
        fail_at(table, row, column,
                fmt::format("expected {}, found {}",
                            result.are_dates
                                ? "a date such as 2024-03-31, as in the rows before"
                            : result.values.empty()
                                ? "a number or a date such as 2024-03-31"
                                : "a number, as in the rows before",
                            in_quotes(cell_text(cell))));
      }
      result.values.push_back(date.value_or(number));
    });
  }
  const auto& values = result.values;
  if (!result.are_dates && values.size() > 1 && are_dates_without_hyphens(values)) {
    fail_at(table, rows.front(), column,
            fmt::format("expected a date such as 2024-03-31, or a number that counts "
                        "time, found {:.0f}, a {} without hyphens",
                        values.front(),
                        is_month_without_hyphen(values.front()) ? "month" : "date"));
  }
  return result;
}

BlockNumbers number_blocks(const std::vector<std::string>& label_of_row) {
  BlockNumbers result;
  result.block_of_row.reserve(label_of_row.size());
  std::unordered_map<std::string, std::int64_t> number_of_label;
  for (const std::string& label : label_of_row) {
    const auto next = static_cast<std::int64_t>(number_of_label.size());
    const auto [found, is_new] = number_of_label.emplace(label_key(label), next);
    if (is_new) {
      result.label_of_block.push_back(label);
      result.size_of_block.push_back(0);
    }
    result.block_of_row.push_back(found->second);
    ++result.size_of_block[static_cast<std::size_t>(found->second)];
  }
  return result;
}

void check_several_blocks(const BlockNumbers& blocks, const std::string& source,
                          const std::string& column) {
  if (blocks.label_of_block.size() > 1) return;
  throw InputError(fmt::format(
      "{}: column {}: expected at least 2 groups, found {} in every row", source,
      in_quotes(column),
      blocks.label_of_block.empty() ? "none" : in_quotes(blocks.label_of_block[0])));
}

}  // namespace kinflow
