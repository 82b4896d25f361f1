// Lists of single entries: GCTA's, MatrixMarket and tables of pairs.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/relationship_readers.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMostListedRows = std::numeric_limits<std::int32_t>::max();

/// The cells of the current line, one after the other.
class LineCells {
 public:
  explicit LineCells(const TextLines& lines) : lines_(lines), rest_(lines.line()) {}

  std::string_view text(const char* what) {
    std::string_view cell;
    if (!next_cell(rest_, cell)) {
      lines_.fail(fmt::format("expected {}, found the end of the line", what));
    }
    return cell;
  }

  std::int64_t integer(const char* what, std::int64_t low, std::int64_t high) {
    const std::string_view cell = text(what);
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || value < low ||
        value > high) {
      lines_.fail(fmt::format("expected {} from {} to {}, found {}", what, low, high,
                              in_quotes(cell)));
    }
    return value;
  }

  double number(const char* what) {
    const std::string_view cell = text(what);
    double value = 0;
    if (read_number(cell, value) != CellKind::number) {
      lines_.fail(
          fmt::format("expected {}, a finite number, found {}", what, in_quotes(cell)));
    }
    return value;
  }

  void expect_end() {
    std::string_view cell;
    if (next_cell(rest_, cell)) {
      lines_.fail("expected the end of the line, found " + in_quotes(cell));
    }
  }

 private:
  const TextLines& lines_;
  std::string_view rest_;
};

SparseEntry entry(std::int64_t row, std::int64_t column, double value) {
  return {static_cast<std::int32_t>(row), static_cast<std::int32_t>(column), value};
}

/// A dense matrix from one triangle in any order.
std::vector<double> fill_triangle(std::int64_t rows,
                                  const std::vector<SparseEntry>& entries,
                                  const std::string& source) {
  const auto n = static_cast<std::size_t>(rows);
  require_dense_memory(rows, source);
  std::vector<double> values(n * n);
  std::vector<bool> is_filled(n * n);
  for (const auto& [row, column, value] : entries) {
    const auto [low, high] = std::minmax(row, column);
    const auto at = static_cast<std::size_t>(high) * n + static_cast<std::size_t>(low);
    if (is_filled[at]) {
      throw InputError(fmt::format(
          "{}: expected every pair of rows once, found rows {} and {} twice", source,
          row + 1, column + 1));
    }
    is_filled[at] = true;
    values[at] = value;
  }
  mirror_lower_triangle(values, rows);
  return values;
}

struct MarketHeader {
  bool is_array = false, is_symmetric = false, is_pattern = false;
};

MarketHeader read_market_header(TextLines& lines) {
  const auto words =
      lines.next() ? split_cells(lower_case(lines.line())) : std::vector<std::string>();
  const auto is_one_of = [&](std::size_t i, std::initializer_list<const char*> known) {
    return std::find(known.begin(), known.end(), words[i]) != known.end();
  };
  if (words.size() != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" ||
      !is_one_of(2, {"coordinate", "array"}) ||
      !is_one_of(3, {"real", "double", "integer", "pattern"}) ||
      !is_one_of(4, {"general", "symmetric"}) ||
      (words[2] == "array" && words[3] == "pattern")) {
    throw InputError(fmt::format(
        "{}:1: expected %%MatrixMarket matrix, coordinate or array, real, integer or "
        "pattern, general or symmetric, found {}",
        lines.source(), in_quotes(lines.line(), 80)));
  }
  return {.is_array = words[2] == "array",
          .is_symmetric = words[4] == "symmetric",
          .is_pattern = words[3] == "pattern"};
}

bool next_market_line(TextLines& lines) {
  while (lines.next_filled()) {
    if (!lines.line().starts_with('%')) return true;
  }
  return false;
}

void read_market_array(TextLines& lines, const MarketHeader& header,
                       RelationshipFile& file) {
  const auto n = static_cast<std::uint64_t>(file.rows);
  const std::uint64_t expected = header.is_symmetric ? n * (n + 1) / 2 : n * n;
  std::vector<double> given;
  while (next_market_line(lines)) {
    LineCells cells(lines);
    given.push_back(cells.number("a value"));
    cells.expect_end();
    if (given.size() > expected) break;
  }
  if (given.size() != expected) {
    throw InputError(fmt::format("{}: expected {} values, found {}{}", file.source,
                                 expected, given.size() > expected ? "at least " : "",
                                 given.size()));
  }
  // Column by column; the lower triangle only of a symmetric matrix.
  require_dense_memory(file.rows, file.source);
  file.dense.assign(n * n, 0.0);
  std::size_t next = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = header.is_symmetric ? j : 0; i < n; ++i) {
      file.dense[i * n + j] = given[next++];
    }
  }
  if (header.is_symmetric) mirror_lower_triangle(file.dense, file.rows);
}

/// Columns of a table of pairs.
struct PairColumns {
  std::optional<std::size_t> family1, family2;
  std::size_t individual1 = 0, individual2 = 1, value = 2;
  bool is_kinship = false;
};

/// The columns by the words of a header, or nothing where it is none.
std::optional<PairColumns> pair_columns(std::string_view line) {
  const auto words = split_cells(lower_case(line));
  const auto find = [&](std::initializer_list<const char*> names) {
    std::optional<std::size_t> place;
    for (const char* name : names) {
      const auto found = std::find(words.begin(), words.end(), name);
      if (!place && found != words.end()) {
        place = static_cast<std::size_t>(found - words.begin());
      }
    }
    return place;
  };
  const auto first = find({"iid1", "#iid1", "id1", "#id1"});
  const auto second = find({"iid2", "id2"});
  const auto kinship = find({"kinship"});
  const auto value = kinship ? kinship : find({"relationship", "value", "pi_hat"});
  if (!first || !second || !value) return std::nullopt;
  return PairColumns{.family1 = find({"fid1", "#fid1", "fid", "#fid"}),
                     .family2 = find({"fid2", "fid", "#fid"}),
                     .individual1 = *first,
                     .individual2 = *second,
                     .value = *value,
                     .is_kinship = kinship.has_value()};
}

}  // namespace

RelationshipFile read_grm_list(TextLines& lines) {
  std::vector<SparseEntry> entries;
  std::int64_t rows = 0;
  double variants = 0;
  while (lines.next_filled()) {
    LineCells cells(lines);
    const auto i = cells.integer("a row", 1, kMostListedRows);
    const auto j = cells.integer("a column", 1, kMostListedRows);
    variants += cells.number("a number of variants");
    entries.push_back(entry(i - 1, j - 1, cells.number("a value")));
    cells.expect_end();
    rows = std::max({rows, i, j});
  }
  const auto n = static_cast<std::uint64_t>(rows);
  if (rows == 0 || entries.size() != n * (n + 1) / 2) {
    throw InputError(fmt::format("{}: expected {}, one for each pair of {}, found {}",
                                 lines.source(), counted(n * (n + 1) / 2, "line"),
                                 counted(rows, "row"), entries.size()));
  }
  return {.source = lines.source(),
          .ids = {},
          .rows = rows,
          .dense = fill_triangle(rows, entries, lines.source()),
          .sparse = {},
          .variants = variants / static_cast<double>(entries.size())};
}

RelationshipFile read_sparse_grm(TextLines& lines, std::int64_t rows) {
  std::vector<SparseEntry> entries;
  std::int64_t largest = -1;
  const std::int64_t end = rows > 0 ? rows : kMostListedRows;
  while (lines.next_filled()) {
    LineCells cells(lines);
    const auto i = cells.integer("a row", 0, end - 1);
    const auto j = cells.integer("a column", 0, end - 1);
    entries.push_back(entry(i, j, cells.number("a value")));
    cells.expect_end();
    largest = std::max({largest, i, j});
  }
  if (rows == 0) rows = largest + 1;
  if (rows == 0 || static_cast<std::int64_t>(entries.size()) < rows) {
    throw InputError(
        fmt::format("{}: expected at least {} lines, the diagonal of {} rows, found {}",
                    lines.source(), rows, rows, entries.size()));
  }
  return {.source = lines.source(),
          .ids = {},
          .rows = rows,
          .dense = {},
          .sparse = compress_rows(rows, std::move(entries), true, lines.source())};
}

RelationshipFile read_matrix_market(TextLines& lines) {
  const MarketHeader header = read_market_header(lines);
  if (!next_market_line(lines)) {
    throw InputError(lines.source() + ": expected a line of sizes, found none");
  }
  LineCells sizes(lines);
  RelationshipFile file{.source = lines.source(),
                        .ids = {},
                        .rows = sizes.integer("a number of rows", 1, kMostListedRows),
                        .dense = {},
                        .sparse = {}};
  const auto columns = sizes.integer("a number of columns", 1, kMostListedRows);
  if (columns != file.rows) {
    lines.fail(
        fmt::format("expected a square matrix, found {} x {}", file.rows, columns));
  }
  if (header.is_array) {
    sizes.expect_end();
    read_market_array(lines, header, file);
    return file;
  }
  const auto expected = sizes.integer("a number of entries", file.rows,
                                      std::numeric_limits<std::int64_t>::max());
  sizes.expect_end();
  std::vector<SparseEntry> entries;
  while (next_market_line(lines)) {
    LineCells cells(lines);
    const auto i = cells.integer("a row", 1, file.rows);
    const auto j = cells.integer("a column", 1, file.rows);
    entries.push_back(
        entry(i - 1, j - 1, header.is_pattern ? 1.0 : cells.number("a value")));
    cells.expect_end();
  }
  if (static_cast<std::int64_t>(entries.size()) != expected) {
    throw InputError(fmt::format("{}: expected {}, found {}", file.source,
                                 counted(expected, "entry", "entries"),
                                 entries.size()));
  }
  file.sparse =
      compress_rows(file.rows, std::move(entries), header.is_symmetric, file.source);
  return file;
}

RelationshipFile read_pairs(TextLines& lines, std::vector<SampleId> ids) {
  RelationshipFile file{.source = lines.source(),
                        .ids = std::move(ids),
                        .rows = 0,
                        .dense = {},
                        .sparse = {}};
  const bool people_are_known = !file.ids.empty();
  std::unordered_map<SampleId, std::int64_t> row_of;
  for (const SampleId& id : file.ids) {
    row_of.emplace(id, static_cast<std::int64_t>(row_of.size()));
  }
  PairColumns columns;
  std::vector<SparseEntry> entries;
  const auto row_for = [&](const SampleId& id) {
    const auto next = static_cast<std::int64_t>(row_of.size());
    const auto [found, is_new] = row_of.emplace(id, next);
    if (is_new && people_are_known) {
      lines.fail("expected a person of the file of ids, found " + in_quotes(id));
    }
    if (is_new) file.ids.push_back(id);
    return found->second;
  };
  for (bool is_first = true; lines.next_filled(); is_first = false) {
    if (is_first) {
      if (const auto named = pair_columns(lines.line())) {
        columns = *named;
        continue;
      }
    }
    const auto cells = split_cells(lines.line());
    const std::size_t needed =
        1 + std::max({columns.family1.value_or(0), columns.family2.value_or(0),
                      columns.individual1, columns.individual2, columns.value});
    if (cells.size() < needed) {
      lines.fail(
          fmt::format("expected at least {} cells, found {}", needed, cells.size()));
    }
    double value = 0;
    if (read_number(cells[columns.value], value) != CellKind::number) {
      lines.fail("expected a value, a finite number, found " +
                 in_quotes(cells[columns.value]));
    }
    const auto id_at = [&](const std::optional<std::size_t>& family, std::size_t at) {
      return sample_id(family ? cells[*family] : "", cells[at]);
    };
    const auto i = row_for(id_at(columns.family1, columns.individual1));
    const auto j = row_for(id_at(columns.family2, columns.individual2));
    entries.push_back(entry(i, j, value));
  }
  file.rows = static_cast<std::int64_t>(file.ids.size());
  if (entries.empty()) throw InputError(file.source + ": expected pairs, found none");
  check_sample_ids(file.ids, file.source);
  if (columns.is_kinship) {
    std::vector<bool> has_diagonal(file.ids.size());
    for (const auto& pair : entries) {
      if (pair.row == pair.column)
        has_diagonal[static_cast<std::size_t>(pair.row)] = true;
    }
    for (std::int64_t i = 0; i < file.rows; ++i) {
      if (!has_diagonal[static_cast<std::size_t>(i)])
        entries.push_back(entry(i, i, 0.5));
    }
  }
  file.sparse = compress_rows(file.rows, std::move(entries), true, file.source);
  return file;
}

bool starts_like_pairs(TextLines& lines) {
  if (!lines.next_filled()) return false;
  lines.put_back();
  return pair_columns(lines.line()).has_value();
}

}  // namespace kinflow
