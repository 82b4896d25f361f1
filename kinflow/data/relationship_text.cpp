// Matrices of text: squares and triangles, with and without ids.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/relationship_readers.h"

namespace kinflow {
namespace {

constexpr std::size_t kMaximumIdColumns = 2;

bool is_number(std::string_view cell) {
  double ignored = 0;
  return read_number(cell, ignored) == CellKind::number;
}

/// Collects the lines and decides at the end which of their cells are ids.
class TextMatrixReader {
 public:
  TextMatrixReader(TextLines& lines, const MatrixLayout& layout)
      : lines_(lines), layout_(layout) {}

  RelationshipFile read() {
    file_.source = lines_.source();
    while (lines_.next()) {
      if (lines_.line().find_first_not_of(" \t\r,") == std::string_view::npos) {
        // Blank lines may stand at the end only.
        if (!lines_.next_filled()) break;
        throw InputError(fmt::format("{}:{}: expected numbers, found a blank line",
                                     file_.source, count_ + 1));
      }
      ++count_;
      count_ == 1 ? read_first_line() : read_line();
    }
    if (count_ == 0) throw InputError(file_.source + ": the file is empty");
    if (is_triangle_ || is_lone_kinship()) {
      finish_triangle();
    } else {
      finish_square();
    }
    return std::move(file_);
  }

 private:
  void read_first_line() {
    first_ = split_cells(lines_.line());
    width_ = first_.size();
    values_.assign(width_, 0.0);
  }

  // Numbers, except in the first cells of a line, which may be ids.
  void read_line() {
    const std::size_t start = values_.size();
    std::string_view rest = lines_.line(), cell;
    std::size_t found = 0;
    for (; next_cell(rest, cell); ++found) {
      double value = 0;
      const CellKind kind = read_number(cell, value);
      if (kind != CellKind::number) {
        if (found >= kMaximumIdColumns) fail_at(count_, found, cell);
        value = NAN;
      }
      if (found < kMaximumIdColumns) leading_.emplace_back(cell);
      values_.push_back(value);
    }
    for (auto i = found; i < kMaximumIdColumns; ++i) leading_.emplace_back();
    if (count_ == 2) {
      is_triangle_ = first_.size() == 1 && found == 2 && is_number(first_[0]);
      // A header may leave out the name of the column of ids.
      if (found == width_ + 1) width_ = found;
    }
    const std::size_t expected = is_triangle_ ? count_ : width_;
    if (values_.size() - start != expected) fail_for_width(count_, expected, found);
  }

  [[noreturn]] void fail_for_width(std::size_t line, std::size_t expected,
                                   std::size_t found) const {
    throw InputError(fmt::format("{}:{}: expected {} numbers {}, found {}",
                                 file_.source, line, expected,
                                 is_triangle_                ? "as in a lower triangle"
                                 : expected == first_.size() ? "as in line 1"
                                                             : "as in line 2",
                                 found));
  }

  [[noreturn]] void fail_at(std::size_t line, std::size_t column,
                            std::string_view cell) const {
    double ignored = 0;
    throw InputError(fmt::format(
        "{}:{}: column {}: expected a {}number, found {}", file_.source, line,
        column + 1, read_number(cell, ignored) == CellKind::text ? "" : "finite ",
        in_quotes(cell)));
  }

  // Two people have one kinship.
  bool is_lone_kinship() const {
    return layout_.is_kinship && count_ == 1 && width_ == 1;
  }

  void finish_triangle() {
    const std::size_t shift = layout_.is_kinship ? 1 : 0;
    const std::size_t n = count_ + shift;
    file_.rows = static_cast<std::int64_t>(n);
    check_numbers(0);
    require_dense_memory(file_.rows, file_.source);
    file_.dense.assign(n * n, 0.0);
    std::size_t next = first_.size();
    for (std::size_t line = 1; line <= count_; ++line) {
      double* row = &file_.dense[(line - 1 + shift) * n];
      if (line == 1) {
        row[0] = first_number(0);
        continue;
      }
      std::copy_n(values_.data() + next, line, row);
      next += line;
    }
    if (layout_.is_kinship) {
      for (std::size_t i = 0; i < n; ++i) file_.dense[i * n + i] = 0.5;
    }
    mirror_lower_triangle(file_.dense, file_.rows);
  }

  struct Places {
    bool header = false;
    std::size_t id_columns = 0;
  };

  Places find_ids() const {
    if (count_ == first_.size() && count_ == width_ && is_number(first_[0])) return {};
    const std::string corner = lower_case(first_[0]);
    const bool names_family = corner == "fid" || corner == "#fid";
    const std::size_t n = count_ - 1;  // rows below a header
    if (count_ == width_ && width_ == first_.size() && has_ids_after_corner()) {
      return {true, 1};
    }
    if (count_ == width_ && width_ == first_.size() + 1) return {true, 1};
    if (width_ != first_.size()) fail_for_width(2, first_.size(), width_);
    if (names_family && width_ == n + 2 && n > 0) return {true, 2};
    if (width_ == n && has_text_in_header()) return {true, 0};
    for (const std::size_t columns : {std::size_t{1}, kMaximumIdColumns}) {
      if (width_ == count_ + columns && has_text_in_column(columns - 1)) {
        return {false, columns};
      }
    }
    return {};
  }

  // Whether the first line and column are ids, not numbers with a bad one in the
  // corner.
  bool has_ids_after_corner() const {
    bool all_numbers = true, all_same = true;
    for (std::size_t i = 1; i < first_.size(); ++i) {
      all_numbers = all_numbers && is_number(first_[i]);
      all_same = all_same && first_[i] == leading_[(i - 1) * kMaximumIdColumns];
    }
    return first_.size() > 1 && (all_same || !all_numbers);
  }

  bool has_text_in_header() const {
    return !std::all_of(first_.begin(), first_.end(), is_number);
  }

  bool has_text_in_column(std::size_t column) const {
    bool has_text = !is_number(first_[column]);
    for (std::size_t i = column; i < leading_.size(); i += kMaximumIdColumns) {
      has_text = has_text || !is_number(leading_[i]);
    }
    return has_text;
  }

  double first_number(std::size_t column) const {
    double value = 0;
    if (read_number(first_[column], value) != CellKind::number) {
      fail_at(1, column, first_[column]);
    }
    return value;
  }

  // The cells that could have been ids but must be numbers.
  void check_numbers(std::size_t id_columns) const {
    for (std::size_t i = 0; i < leading_.size(); ++i) {
      const std::size_t column = i % kMaximumIdColumns;
      const std::size_t line = i / kMaximumIdColumns + 2;
      const std::size_t width = is_triangle_ ? line : width_;
      if (column < id_columns || column >= width || is_number(leading_[i])) continue;
      fail_at(line, column, leading_[i]);
    }
  }

  void finish_square() {
    const Places ids = find_ids();
    const std::size_t rows = count_ - (ids.header ? 1 : 0);
    const std::size_t columns = width_ - ids.id_columns;
    check_numbers(ids.id_columns);
    if (rows != columns) {
      throw InputError(fmt::format("{}: expected a square matrix, found {} x {}",
                                   file_.source, rows, columns));
    }
    file_.rows = static_cast<std::int64_t>(rows);
    take_ids(ids);
    // The numbers move to the front of `values_`, over the ids.
    std::size_t next = 0;
    if (!ids.header) {
      for (; next < columns; ++next) {
        values_[next] = first_number(next + ids.id_columns);
      }
    }
    for (std::size_t at = first_.size(); at < values_.size(); at += width_) {
      std::copy_n(values_.data() + at + ids.id_columns, columns, values_.data() + next);
      next += columns;
    }
    values_.resize(rows * columns);
    file_.dense = std::move(values_);
    if (layout_.zeros_above_mean_triangle && has_zeros_above()) {
      mirror_lower_triangle(file_.dense, file_.rows);
    }
  }

  void take_ids(const Places& places) {
    if (!places.header && places.id_columns == 0) return;
    const auto n = static_cast<std::size_t>(file_.rows);
    std::vector<SampleId> from_columns, from_header;
    if (places.id_columns > 0) {
      const auto add = [&](const std::string* cells) {
        from_columns.push_back(places.id_columns == 2 ? sample_id(cells[0], cells[1])
                                                      : sample_id("", cells[0]));
      };
      if (!places.header) add(first_.data());
      for (std::size_t i = 0; i < leading_.size(); i += kMaximumIdColumns) {
        add(&leading_[i]);
      }
    }
    if (places.header) {
      for (std::size_t j = first_.size() - n; j < first_.size(); ++j) {
        from_header.push_back(sample_id("", first_[j]));
      }
    }
    file_.ids = from_columns.empty() ? from_header : from_columns;
    for (std::size_t i = 0; places.header && i < n; ++i) {
      if (label_key(file_.ids[i].individual) == label_key(from_header[i].individual))
        continue;
      throw InputError(
          fmt::format("{}:{}: expected the id of column {} of the header, {}, found {}",
                      file_.source, i + 2, i + 1, in_quotes(from_header[i]),
                      in_quotes(file_.ids[i])));
    }
    check_sample_ids(file_.ids, file_.source);
  }

  bool has_zeros_above() const {
    const auto n = static_cast<std::size_t>(file_.rows);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        if (file_.dense[i * n + j] != 0) return false;
      }
    }
    return true;
  }

  TextLines& lines_;
  const MatrixLayout& layout_;
  RelationshipFile file_;
  std::size_t count_ = 0;  // lines
  std::size_t width_ = 0;  // cells of the lines after the first
  bool is_triangle_ = false;
  std::vector<std::string> first_;    // cells of the first line
  std::vector<std::string> leading_;  // the first two cells of the other lines
  std::vector<double> values_;  // room for the first line, all cells of the others
};

}  // namespace

RelationshipFile read_text_matrix(TextLines& lines, const MatrixLayout& layout) {
  return TextMatrixReader(lines, layout).read();
}

}  // namespace kinflow
