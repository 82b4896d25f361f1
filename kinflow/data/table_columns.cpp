// Reading columns of a table as numbers and as labels.
#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "kinflow/core/error.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/table.h"

namespace kinflow {

/// Reads chosen columns row by row.
class RowReader {
 public:
  /// @param columns  positions of the columns, in any order, each once
  RowReader(const Table& table, const std::vector<std::int64_t>& columns)
      : table_(table), slot_of_column_(table.names_.size(), -1) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      slot_of_column_[static_cast<std::size_t>(columns[i])] = static_cast<int>(i);
    }
    while (!slot_of_column_.empty() && slot_of_column_.back() < 0) {
      slot_of_column_.pop_back();
    }
  }

  /// Calls visit(slot, text) for text files and visit(slot, number) for arrays, for
  /// each chosen column in the order of the table.
  template <typename Visit>
  void read(std::int64_t row, const Visit& visit) const {
    const auto index = static_cast<std::size_t>(row);
    if (table_.row_starts_.empty()) {
      const double* numbers = table_.numbers_.data() + index * table_.names_.size();
      for (std::size_t c = 0; c < slot_of_column_.size(); ++c) {
        if (slot_of_column_[c] >= 0) visit(slot_of_column_[c], numbers[c]);
      }
      return;
    }
    CellReader reader(table_.bytes_, table_.row_starts_[index], table_.delimiter_);
    for (const int slot : slot_of_column_) {
      const std::string_view cell = reader.next();
      if (slot >= 0) visit(slot, cell);
    }
  }

 private:
  const Table& table_;
  std::vector<int> slot_of_column_;
};

namespace {

std::string to_text(std::string_view cell) { return std::string(cell); }
std::string to_text(double number) { return fmt::format("{}", number); }

CellKind to_number(std::string_view cell, double& value) {
  return read_number(cell, value);
}
CellKind to_number(double number, double& value) {
  value = number;
  return kind_of(number);
}

bool is_missing(std::string_view cell) { return is_missing_cell(cell); }
bool is_missing(double number) { return std::isnan(number); }

[[noreturn]] void fail_at(const Table& table, std::int64_t row,
                          const std::string& column, const std::string& what) {
  throw InputError(fmt::format("{}:{}: column {}: {}", table.source(),
                               table.line_of_row(row), in_quotes(column), what));
}

std::vector<std::int64_t> all_rows(const Table& table) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return rows;
}

}  // namespace

void fail_without_rows(const std::string& source) {
  throw InputError(source + ": every row has a missing value");
}

NumericMatrix numeric_matrix(const Table& table,
                             const std::vector<std::string>& columns,
                             const NumericMatrixOptions& options) {
  std::vector<std::string> wanted = columns;
  std::unordered_set<std::string> seen;
  for (const std::string& name : columns) {
    if (seen.insert(name).second) continue;
    throw InputError(fmt::format("{}: expected different columns, found {} twice",
                                 table.source(), in_quotes(name)));
  }
  for (const std::string& name : options.label_columns) {
    if (seen.insert(name).second) wanted.push_back(name);
  }
  std::vector<std::int64_t> positions;
  for (const std::string& name : wanted) positions.push_back(table.column_index(name));

  const std::size_t width = columns.size();
  NumericMatrix matrix;
  matrix.source = table.source();
  matrix.names = columns;
  matrix.values.reserve(static_cast<std::size_t>(table.rows()) * width);
  std::vector<double> numbers(width);
  const RowReader reader(table, positions);
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    int missing = -1;
    reader.read(row, [&](int slot, auto cell) {
      const auto i = static_cast<std::size_t>(slot);
      if (i >= width) {
        if (is_missing(cell)) missing = slot;
        return;
      }
      switch (to_number(cell, numbers[i])) {
        case CellKind::number:
          return;
        case CellKind::missing:
          missing = slot;
          return;
        case CellKind::infinite:
          fail_at(table, row, wanted[i],
                  "expected a finite number, found " + in_quotes(to_text(cell)));
        case CellKind::text:
          fail_at(table, row, wanted[i],
                  "expected a number, found " + in_quotes(to_text(cell)));
      }
    });
    if (missing >= 0 && options.missing == MissingPolicy::refuse) {
      const auto slot = static_cast<std::size_t>(missing);
      fail_at(table, row, wanted[slot],
              fmt::format("expected a {}, found a missing value (--drop-missing leaves "
                          "such rows out)",
                          slot < width ? "number" : "label"));
    }
    if (missing >= 0) {
      ++matrix.dropped_rows;
      continue;
    }
    matrix.values.insert(matrix.values.end(), numbers.begin(), numbers.end());
    matrix.kept_rows.push_back(row);
  }
  matrix.rows = static_cast<std::int64_t>(matrix.kept_rows.size());
  if (matrix.rows == 0 && !options.may_drop_all) fail_without_rows(table.source());
  return matrix;
}

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
      result.push_back(to_text(cell));
      if (!is_printable_utf8(result.back())) {
        fail_at(table, row, column,
                "expected a label of UTF-8 text, found " + in_quotes(result.back()));
      }
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
    reader.read(row, [&](int, auto cell) { result.push_back(to_text(cell)); });
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
      const bool is_number = to_number(cell, number) == CellKind::number;
      const auto date = is_number ? std::nullopt : read_date(to_text(cell));
      // The first row decides, so that a column does not mix both.
      if (result.values.empty()) result.are_dates = date.has_value();
      if (result.are_dates ? !date : !is_number) {
        fail_at(table, row, column,
                fmt::format("expected {}, found {}",
                            result.are_dates
                                ? "a date such as 2024-03-31, as in the rows before"
                                : "a number or a date such as 2024-03-31",
                            in_quotes(to_text(cell))));
      }
      result.values.push_back(date.value_or(number));
    });
  }
  return result;
}

BlockNumbers number_blocks(const std::vector<std::string>& label_of_row) {
  BlockNumbers result;
  result.block_of_row.reserve(label_of_row.size());
  std::unordered_map<std::string_view, std::int64_t> number_of_label;
  for (const std::string& label : label_of_row) {
    const auto next = static_cast<std::int64_t>(number_of_label.size());
    const auto [found, is_new] = number_of_label.emplace(label, next);
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
