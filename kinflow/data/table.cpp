// Reading the structure of a table: names, rows, and that they agree.
#include "kinflow/data/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/in_quotes.h"
#include "kinflow/data/npy.h"

namespace kinflow {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace

TableFormat table_format(const std::string& path) {
  const std::string lower = lower_case(path);
  if (lower.ends_with(".csv")) return TableFormat::csv;
  if (lower.ends_with(".tsv") || lower.ends_with(".txt")) return TableFormat::tsv;
  if (lower.ends_with(".npy")) return TableFormat::npy;
  throw InputError(path +
                   ": expected a name that ends in .csv, .tsv, .txt (tabs) or .npy");
}

std::int64_t Table::column_index(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return found - names_.begin();
  constexpr std::size_t kShown = 20;
  std::string listed;
  for (std::size_t i = 0; i < std::min(names_.size(), kShown); ++i) {
    listed += (i == 0 ? "" : ", ") + names_[i];
  }
  if (names_.size() > kShown) listed += fmt::format(", ... ({} in all)", names_.size());
  throw InputError(
      fmt::format("{}: no column {}; there are {}", source_, in_quotes(name), listed));
}

std::int64_t Table::line_of_row(std::int64_t row) const {
  if (row_starts_.empty()) return row + 1;
  const auto start =
      static_cast<std::ptrdiff_t>(row_starts_[static_cast<std::size_t>(row)]);
  return 1 + std::count(bytes_.begin(), bytes_.begin() + start, '\n');
}

/// Builds a table and checks its structure.
class TableParser {
 public:
  TableParser(std::string bytes, const std::string& source, char delimiter) {
    table_.source_ = source;
    table_.bytes_ = std::move(bytes);
    table_.delimiter_ = delimiter;
  }

  Table parse() {
    std::string& bytes = table_.bytes_;
    const std::size_t first = bytes.starts_with(kByteOrderMark) ? 3 : 0;
    const std::size_t nul = bytes.find('\0');
    if (nul != std::string::npos) fail(nul, "not a table of text: found a NUL byte");
    const std::size_t last = bytes.find_last_not_of(" \r\n");
    bytes.resize(last == std::string::npos ? 0 : last + 1);
    if (bytes.size() <= first) {
      throw InputError(table_.source_ + ": the file is empty");
    }
    try {
      read_rows(read_header(first));
    } catch (const QuoteError& error) {
      fail(error.position, "expected a table, found " + error.message);
    }
    return std::move(table_);
  }

  static Table from_array(NpyArray array, const std::string& source) {
    const std::size_t dimensions = array.shape.size();
    if (dimensions != 1 && dimensions != 2) {
      throw InputError(
          fmt::format("{}: expected an array of rows and columns, found one "
                      "of {} dimensions",
                      source, dimensions));
    }
    const std::int64_t columns = dimensions == 2 ? array.shape[1] : 1;
    if (array.values.empty()) throw InputError(source + ": the array is empty");
    Table table;
    table.source_ = source;
    table.rows_ = array.shape[0];
    table.numbers_ = std::move(array.values);
    for (std::int64_t i = 1; i <= columns; ++i) {
      table.names_.push_back(fmt::format("x{}", i));
    }
    return table;
  }

 private:
  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    const auto end = table_.bytes_.begin() + static_cast<std::ptrdiff_t>(position);
    const auto line = 1 + std::count(table_.bytes_.begin(), end, '\n');
    throw InputError(fmt::format("{}:{}: {}", table_.source_, line, what));
  }

  /// Reads the names and returns where the first row starts.
  std::size_t read_header(std::size_t start) {
    CellReader reader(table_.bytes_, start, table_.delimiter_);
    std::unordered_set<std::string> seen;
    bool all_numbers = true, some_fraction = false;
    do {
      const std::string name(reader.next());
      const std::size_t column = table_.names_.size() + 1;
      if (!is_printable_utf8(name)) {
        fail(start,
             "not a table of UTF-8 text: found " + in_quotes(name) + " in the header");
      }
      if (name.empty()) fail(start, fmt::format("column {} has no name", column));
      if (!seen.insert(name).second) {
        fail(start, "two columns have the name " + in_quotes(name));
      }
      double number = 0;
      all_numbers &= read_number(name, number) == CellKind::number;
      some_fraction |= number != std::floor(number);
      table_.names_.push_back(name);
    } while (!reader.at_end_of_row());
    if (all_numbers && some_fraction) {
      fail(start, "expected the names of the columns, found numbers");
    }
    if (table_.names_.size() == 1 && table_.delimiter_ == ',' &&
        table_.names_[0].find(';') != std::string::npos) {
      fail(start, "expected columns separated by commas, found semicolons: " +
                      in_quotes(table_.names_[0]));
    }
    if (reader.position() >= table_.bytes_.size()) {
      fail(start, "expected rows after the header, found none");
    }
    return reader.position();
  }

  void read_rows(std::size_t start) {
    const std::string& bytes = table_.bytes_;
    const bool any_quote = bytes.find('"', start) != std::string::npos;
    std::size_t position = start;
    while (position < bytes.size()) {
      const std::size_t newline = std::min(bytes.find('\n', position), bytes.size());
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(position);
      const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(newline);
      std::size_t cells = 0;
      std::size_t next = newline + 1;
      if (any_quote && std::find(begin, end, '"') != end) {
        CellReader reader(bytes, position, table_.delimiter_);
        do {
          reader.next();
          ++cells;
        } while (!reader.at_end_of_row());
        next = reader.position();
      } else {
        cells = 1 + static_cast<std::size_t>(std::count(begin, end, table_.delimiter_));
      }
      if (cells != table_.names_.size()) {
        fail(position, fmt::format("expected {} cells as in the header, found {}",
                                   table_.names_.size(), cells));
      }
      table_.row_starts_.push_back(position);
      position = next;
    }
    table_.rows_ = static_cast<std::int64_t>(table_.row_starts_.size());
  }

  Table table_;
};

Table parse_table(std::string bytes, const std::string& source, TableFormat format) {
  if (format == TableFormat::npy) {
    return TableParser::from_array(parse_npy(bytes, source), source);
  }
  const char delimiter = format == TableFormat::csv ? ',' : '\t';
  return TableParser(std::move(bytes), source, delimiter).parse();
}

Table read_table(const std::string& path) {
  const TableFormat format = table_format(path);
  if (format == TableFormat::npy) return TableParser::from_array(read_npy(path), path);
  return parse_table(read_whole_file(path), path, format);
}

}  // namespace kinflow
