// Columns of a table as numbers, with all columns named that are none.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/row_reader.h"
#include "kinflow/data/table.h"

namespace kinflow {
namespace {

constexpr std::size_t kMostNamed = 5;  // columns in one message

/// The first cell of a column that cannot be taken.
struct BadCell {
  std::int64_t row = 0;
  std::string message;  ///< "expected a number, found 'x'"
  std::string found;    ///< "'x'"
};

/// What is wrong with a text that is nearly a number.
std::string notation_hint(std::string_view text) {
  const bool has_digit = text.find_first_of("0123456789") != text.npos;
  const bool is_plain = text.find_first_not_of("0123456789., +-eE") == text.npos;
  if (!has_digit || !is_plain) return "";
  if (text.find(',') != text.npos) {
    return "; a number has a point before its decimals and no commas";
  }
  return text.find(' ') != text.npos
             ? "; cells end at tabs in .tsv and .txt, at commas in .csv"
             : "";
}

/// Reads a matrix: every row and all bad cells, so that a message names every column.
class MatrixReader {
 public:
  MatrixReader(const Table& table, const std::vector<std::string>& columns,
               const NumericMatrixOptions& options)
      : table_(table), options_(options), width_(columns.size()), wanted_(columns) {
    std::unordered_set<std::string> seen;
    for (const std::string& name : columns) {
      if (seen.insert(name).second) continue;
      throw InputError(fmt::format("{}: expected different columns, found {} twice",
                                   table.source(), in_quotes(name)));
    }
    for (const std::string& name : options.label_columns) {
      if (seen.insert(name).second) wanted_.push_back(name);
    }
    first_id_ = wanted_.size();
    for (const std::string& name : options.id_columns) {
      if (seen.insert(name).second) wanted_.push_back(name);
    }
    positions_ = table.column_indices(wanted_);
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      meanings_.push_back(i < first_id_ ? options.minus_nine.meaning_in(wanted_[i])
                                        : MinusNine::value);
    }
    bad_.resize(wanted_.size());
    minus_nine_row_.resize(wanted_.size(), -1);
  }

  NumericMatrix read() {
    NumericMatrix matrix;
    matrix.source = table_.source();
    matrix.names.assign(wanted_.begin(),
                        wanted_.begin() + static_cast<std::ptrdiff_t>(width_));
    matrix.values.reserve(static_cast<std::size_t>(table_.rows()) * width_);
    std::vector<double> numbers(width_);
    const RowReader reader(table_, positions_);
    for (std::int64_t row = 0; row < table_.rows(); ++row) {
      bool is_complete = true;
      found_minus_nine_.clear();
      reader.read(row, [&](int slot, auto cell) {
        const auto i = static_cast<std::size_t>(slot);
        const bool is_there = i < width_ ? take_number(row, i, cell, numbers[i])
                                         : take_label(row, i, cell);
        is_complete = is_complete && is_there;
      });
      if (!is_complete) continue;
      // In rows that are left out -9 does no harm.
      for (const std::size_t i : found_minus_nine_) {
        if (minus_nine_row_[i] < 0) minus_nine_row_[i] = row;
      }
      matrix.values.insert(matrix.values.end(), numbers.begin(), numbers.end());
      matrix.kept_rows.push_back(row);
    }
    fail_for_bad_cells();
    check_minus_nine(matrix);
    matrix.rows = static_cast<std::int64_t>(matrix.kept_rows.size());
    matrix.dropped_rows = table_.rows() - matrix.rows;
    if (matrix.rows == 0 && !options_.may_drop_all) fail_without_rows(table_.source());
    return matrix;
  }

 private:
  /// False where the value is missing.
  template <typename Cell>
  bool take_number(std::int64_t row, std::size_t i, Cell cell, double& number) {
    switch (cell_number(cell, number)) {
      case CellKind::number:
        return number != kMinusNine || take_minus_nine(row, i);
      case CellKind::missing:
        return note_missing(row, i, "a missing value");
      case CellKind::infinite:
        note_bad(row, i, "expected a finite number, found ", cell_text(cell));
        return true;
      case CellKind::text:
        note_bad(row, i, "expected a number, found ", cell_text(cell));
        return true;
    }
    return true;
  }

  template <typename Cell>
  bool take_label(std::int64_t row, std::size_t i, Cell cell) {
    if (is_missing(cell)) return note_missing(row, i, "a missing value");
    double number = 0;
    if (meanings_[i] == MinusNine::value) return true;
    const bool is_minus_nine =
        cell_number(cell, number) == CellKind::number && number == kMinusNine;
    return !is_minus_nine || take_minus_nine(row, i);
  }

  bool take_minus_nine(std::int64_t row, std::size_t i) {
    if (meanings_[i] == MinusNine::missing) {
      return note_missing(row, i, "-9, a missing value");
    }
    if (meanings_[i] == MinusNine::careful) found_minus_nine_.push_back(i);
    return true;
  }

  bool note_missing(std::int64_t row, std::size_t i, const std::string& what) {
    if (options_.missing == MissingPolicy::refuse && !bad_[i]) {
      bad_[i] = {row,
                 fmt::format("expected a {}, found {} (--drop-missing leaves such rows "
                             "out)",
                             i < width_ ? "number" : "label", what),
                 what};
    }
    return false;
  }

  void note_bad(std::int64_t row, std::size_t i, const std::string& expected,
                const std::string& text) {
    if (bad_[i]) return;
    const std::string found = in_quotes(text);
    bad_[i] = {row, expected + found + notation_hint(text), found};
  }

  /// Throws one message about all columns with a bad cell, the first in the file ahead.
  void fail_for_bad_cells() const {
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < bad_.size(); ++i) {
      if (bad_[i]) columns.push_back(i);
    }
    if (columns.empty()) return;
    std::stable_sort(columns.begin(), columns.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(bad_[a]->row, positions_[a]) <
             std::pair(bad_[b]->row, positions_[b]);
    });
    std::vector<std::string> others;
    for (std::size_t k = 1; k < columns.size(); ++k) {
      const auto& bad = *bad_[columns[k]];
      others.push_back(fmt::format("{} ({} in line {})", in_quotes(wanted_[columns[k]]),
                                   bad.found, table_.line_of_row(bad.row)));
    }
    const auto& first = *bad_[columns[0]];
    fail(first.row, wanted_[columns[0]], first.message, others);
  }

  /// Throws where -9 was found and it is not plain what it means.
  void check_minus_nine(const NumericMatrix& matrix) const {
    std::optional<std::size_t> first;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const bool is_plain = minus_nine_row_[i] < 0 ||
                            // Labels and times are read with whole tables only.
                            ((options_.minus_nine.content_decides || i >= width_) &&
                             minus_nine_is_plainly_a_value(column_values(matrix, i)));
      if (is_plain) continue;
      if (first) {
        others.push_back(fmt::format("{} (line {})", in_quotes(wanted_[i]),
                                     table_.line_of_row(minus_nine_row_[i])));
      } else {
        first = i;
      }
    }
    if (!first) return;
    fail(minus_nine_row_[*first], wanted_[*first],
         fmt::format("expected to know whether -9 is a missing value or {}; {}",
                     *first < width_ ? "a number" : "a label", kMinusNineDecides),
         others);
  }

  /// The numbers of a column in the rows that are kept; NaN for labels of text.
  std::vector<double> column_values(const NumericMatrix& matrix, std::size_t i) const {
    std::vector<double> values;
    if (i < width_) {
      for (std::size_t k = i; k < matrix.values.size(); k += width_) {
        values.push_back(matrix.values[k]);
      }
      return values;
    }
    const RowReader reader(table_, {positions_[i]});
    for (const auto row : matrix.kept_rows) {
      reader.read(row, [&](int, auto cell) {
        double number = 0;
        const bool is_number = cell_number(cell, number) == CellKind::number;
        values.push_back(is_number ? number : std::numeric_limits<double>::quiet_NaN());
      });
    }
    return values;
  }

  [[noreturn]] void fail(std::int64_t row, const std::string& column,
                         const std::string& message,
                         const std::vector<std::string>& others) const {
    throw InputError(
        fmt::format("{}:{}: column {}: {}{}", table_.source(), table_.line_of_row(row),
                    in_quotes(column), message,
                    others.empty() ? "" : "; also " + listed(others, kMostNamed)));
  }

  const Table& table_;
  const NumericMatrixOptions& options_;
  std::size_t width_;                // columns of numbers
  std::size_t first_id_ = 0;         // among the wanted
  std::vector<std::string> wanted_;  // numbers, labels, ids
  std::vector<std::int64_t> positions_;
  std::vector<MinusNine> meanings_;
  std::vector<std::optional<BadCell>> bad_;
  std::vector<std::size_t> found_minus_nine_;  // columns of a row
  std::vector<std::int64_t> minus_nine_row_;   // first of a column; -1: none
};

}  // namespace

void fail_without_rows(const std::string& source) {
  throw InputError(source + ": every row has a missing value");
}

NumericMatrix numeric_matrix(const Table& table,
                             const std::vector<std::string>& columns,
                             const NumericMatrixOptions& options) {
  return MatrixReader(table, columns, options).read();
}

}  // namespace kinflow
