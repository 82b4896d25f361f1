// Cells of a text table: where they end, and what they hold.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace kinflow {

/// A quote that does not close or is followed by text.
struct QuoteError {
  std::size_t position;
  std::string message;
  bool is_open;  ///< further bytes may close it
};

/// Walks over the cells of a text table from the start of a row.
class CellReader {
 public:
  CellReader(std::string_view bytes, std::size_t position, char delimiter)
      : bytes_(bytes), position_(position), delimiter_(delimiter) {}

  /// The next cell without blanks or quotes around it, valid until the next call.
  std::string_view next() {
    std::size_t start = position_;
    while (start < bytes_.size() && is_blank(bytes_[start])) ++start;
    if (start < bytes_.size() && bytes_[start] == '"') return quoted_cell(start);
    std::size_t end = start;
    while (!ends_cell(end)) ++end;
    finish_at(end);
    while (end > start && is_blank(bytes_[end - 1])) --end;
    return bytes_.substr(start, end - start);
  }

  /// True after the last cell of a row.
  bool at_end_of_row() const { return at_end_of_row_; }
  /// Start of what comes after the last cell that was read.
  std::size_t position() const { return position_; }

 private:
  bool is_blank(char c) const {
    return c == ' ' || c == '\r' || (c == '\t' && delimiter_ != '\t');
  }
  bool ends_cell(std::size_t at) const {
    return at == bytes_.size() || bytes_[at] == delimiter_ || bytes_[at] == '\n';
  }
  void finish_at(std::size_t end) {
    at_end_of_row_ = end == bytes_.size() || bytes_[end] == '\n';
    position_ = std::min(end + 1, bytes_.size());
  }

  std::string_view quoted_cell(std::size_t start) {
    std::size_t from = start + 1;
    unescaped_.clear();
    for (;;) {
      const std::size_t quote = bytes_.find('"', from);
      if (quote == std::string_view::npos) {
        throw QuoteError{start, "a quote that is not closed", true};
      }
      unescaped_ += bytes_.substr(from, quote - from);
      from = quote + 1;
      if (from == bytes_.size() || bytes_[from] != '"') break;
      unescaped_ += '"';
      ++from;
    }
    while (!ends_cell(from) && is_blank(bytes_[from])) ++from;
    if (!ends_cell(from)) throw QuoteError{from, "text after a closing quote", false};
    finish_at(from);
    return unescaped_;
  }

  std::string_view bytes_;
  std::size_t position_;
  char delimiter_;
  bool at_end_of_row_ = false;
  std::string unescaped_;
};

enum class CellKind { number, missing, infinite, text };

/// The one set of missing values: an empty cell, `.`, `NA`, `N/A`, `#N/A`, `NaN` and
/// `null` in any case, and `None` as Python writes it: `none` may be a category.
bool is_missing_cell(std::string_view text);

/// A NaN is missing.
CellKind kind_of(double value);

/// What a cell holds; sets `value` for a number.
CellKind read_number(std::string_view text, double& value);

/// Days since 1970-01-01 of a date in the form of ISO 8601: 2024-03-31, with or without
/// a time of day after a blank or a T, as in 2024-03-31 09:30 or 2024-03-31T09:30:15.5Z
/// (a Z is ignored, other time zones are not understood). Nothing where the text is
/// none or names a day that does not exist.
std::optional<double> read_date(std::string_view text);
/// 20240331, which counts the step to the next month as 70.
bool is_date_without_hyphens(double number);
/// 202403, which counts the step to the next year as 89.
bool is_month_without_hyphen(double number);

}  // namespace kinflow
