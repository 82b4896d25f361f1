// Columns that follow from others.
#include <cblas.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kinflow/core/blas_threads.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/check_columns.h"

namespace kinflow {
namespace {

// Columns with mean 0 and mean square 1, computed where they are asked for. Values are
// divided by the largest one first, since squares of 1e300 are no numbers.
class StandardColumns {
 public:
  explicit StandardColumns(const ColumnsView& columns) : columns_(columns) {
    const auto rows = static_cast<double>(columns.rows);
    for (std::size_t i = 0; i < columns.names.size(); ++i) {
      double largest = 0, sum = 0, squares = 0;
      for (std::int64_t row = 0; row < columns.rows; ++row) {
        largest = std::max(largest, std::abs(columns.at(row, i)));
      }
      if (largest == 0) largest = 1;
      for (std::int64_t row = 0; row < columns.rows; ++row) {
        sum += columns.at(row, i) / largest;
      }
      const double mean = sum / rows;
      for (std::int64_t row = 0; row < columns.rows; ++row) {
        const double own = columns.at(row, i) / largest - mean;
        squares += own * own;
      }
      const double deviation = std::sqrt(squares / rows);
      scales_.push_back({largest, mean, deviation > 0 ? deviation : 1});
    }
  }

  std::size_t size() const { return scales_.size(); }
  double at(std::int64_t row, std::size_t column) const {
    const auto& scale = scales_[column];
    return (columns_.at(row, column) / scale.largest - scale.mean) / scale.deviation;
  }

  // The correlations of all columns, of which the lower half is filled, row-major.
  std::vector<double> correlations() const {
    constexpr std::int64_t kRowsAtOnce = 4096;
    const auto width = static_cast<int>(size());
    std::vector<double> sums(size() * size(), 0), block;
    const BlasInCallingThread one_thread;
    for (std::int64_t first = 0; first < columns_.rows; first += kRowsAtOnce) {
      const auto count = std::min(kRowsAtOnce, columns_.rows - first);
      block.clear();
      for (std::int64_t row = first; row < first + count; ++row) {
        for (std::size_t i = 0; i < size(); ++i) block.push_back(at(row, i));
      }
      cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, width, static_cast<int>(count),
                  1.0 / static_cast<double>(columns_.rows), block.data(), width, 1,
                  sums.data(), width);
    }
    return sums;
  }

 private:
  struct Scale {
    double largest, mean, deviation;
  };
  const ColumnsView& columns_;
  std::vector<Scale> scales_;
};

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A column as a linear combination of others, in standard units.
struct Combination {
  std::size_t column = 0;
  std::vector<std::size_t> others;
  std::vector<double> weights;
};

// Whether a combination holds for most of the rows, not only for a few far values that
// two columns have in common.
bool holds(const Combination& combination, const StandardColumns& standard,
           std::int64_t rows) {
  std::vector<double> own, left;
  for (std::int64_t row = 0; row < rows; ++row) {
    own.push_back(standard.at(row, combination.column));
    double rest = own.back();
    for (std::size_t i = 0; i < combination.others.size(); ++i) {
      rest -= combination.weights[i] * standard.at(row, combination.others[i]);
    }
    left.push_back(std::abs(rest));
  }
  auto sorted = own;
  const double middle = median_of(sorted);
  for (auto& value : own) value = std::abs(value - middle);
  // A column with many ties may have a median distance of 0.
  constexpr double kRounding = 1e-9;
  return median_of(left) <= std::max(kLeastOwnShare * median_of(own), kRounding);
}

// The columns that are linear combinations of independent ones before them. A Cholesky
// factor of the correlations grows by one row for each column; what is left on its
// diagonal is the variance that the columns before do not explain.
std::vector<Combination> linear_combinations(const ColumnsView& columns) {
  std::vector<Combination> found;
  const auto width = columns.names.size();
  // With fewer rows every column is a combination of the others.
  if (columns.rows < static_cast<std::int64_t>(width) + 2) return found;
  const StandardColumns standard(columns);
  const auto correlations = standard.correlations();
  std::vector<std::size_t> kept;
  std::vector<std::vector<double>> factor;  // rows of the kept columns
  for (std::size_t column = 0; column < width; ++column) {
    std::vector<double> row;
    double rest = correlations[column * width + column];
    for (std::size_t k = 0; k < kept.size(); ++k) {
      double value = correlations[column * width + kept[k]];
      for (std::size_t j = 0; j < k; ++j) value -= row[j] * factor[k][j];
      row.push_back(value / factor[k][k]);
      rest -= row.back() * row.back();
    }
    if (rest >= kLeastOwnShare * kLeastOwnShare) {
      row.push_back(std::sqrt(rest));
      factor.push_back(std::move(row));
      kept.push_back(column);
      continue;
    }
    auto weights = row;
    for (std::size_t k = kept.size(); k-- > 0;) {
      for (std::size_t j = k + 1; j < kept.size(); ++j) {
        weights[k] -= factor[j][k] * weights[j];
      }
      weights[k] /= factor[k][k];
    }
    const Combination all{.column = column, .others = kept, .weights = weights};
    if (!holds(all, standard, columns.rows)) continue;
    Combination named{.column = column, .others = {}, .weights = {}};
    for (std::size_t k = 0; k < kept.size(); ++k) {
      if (std::abs(weights[k]) < kLeastOwnShare) continue;
      named.others.push_back(kept[k]);
      named.weights.push_back(weights[k]);
    }
    found.push_back(std::move(named));
  }
  return found;
}

// Some rows, in the order of a column.
using RowOrder = std::vector<std::int64_t>;

RowOrder ordered_by(const ColumnsView& columns, std::size_t column,
                    std::int64_t every = 1) {
  RowOrder order;
  for (std::int64_t row = 0; row < columns.rows; row += every) order.push_back(row);
  std::sort(order.begin(), order.end(), [&](std::int64_t left, std::int64_t right) {
    return columns.at(left, column) < columns.at(right, column);
  });
  return order;
}

// Whether `other` is a monotone function of `column`, but for a few mistaken rows, in
// rows that are ordered by it.
bool is_monotone(const ColumnsView& columns, const RowOrder& order, std::size_t column,
                 std::size_t other) {
  constexpr double kMistakenShare = 0.05;
  std::int64_t rises = 0, falls = 0,
               splits = 0;  // a value of one with two of the other
  for (std::size_t i = 1; i < order.size(); ++i) {
    const double before = columns.at(order[i - 1], other);
    const double now = columns.at(order[i], other);
    if (now == before) continue;
    const bool is_tied =
        columns.at(order[i - 1], column) == columns.at(order[i], column);
    ++(is_tied ? splits : now > before ? rises : falls);
  }
  const auto changes = static_cast<double>(rises + falls + splits);
  return static_cast<double>(std::min(rises, falls) + splits) <=
         kMistakenShare * changes;
}

struct Function {
  std::size_t column = 0, of = 0;
};

// The columns, of those that are not in `known`, that are monotone functions of one
// other. A thousand rows show that most are none.
std::vector<Function> monotone_functions(const ColumnsView& columns,
                                         const std::vector<Combination>& known) {
  constexpr std::int64_t kFewRows = 1000;
  std::vector<Function> found;
  if (columns.rows < kLeastOrderedRows) return found;
  const auto width = columns.names.size();
  std::vector<bool> is_out(width, false);
  for (const auto& combination : known) is_out[combination.column] = true;
  std::vector<RowOrder> few;
  const auto every = (columns.rows + kFewRows - 1) / kFewRows;
  for (std::size_t i = 0; i < width; ++i) {
    few.push_back(ordered_by(columns, i, every));
  }
  for (std::size_t i = 0; i < width; ++i) {
    std::optional<RowOrder> all;
    for (std::size_t j = 0; j < width && !is_out[i]; ++j) {
      if (i == j || is_out[j] || !is_monotone(columns, few[i], i, j)) continue;
      if (!all) all = ordered_by(columns, i);
      if (!is_monotone(columns, *all, i, j)) continue;
      found.push_back({.column = j, .of = i});
      is_out[j] = true;
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> check_redundancy(const ColumnsView& columns, std::size_t known,
                                          const std::string& role) {
  const auto name = [&](std::size_t i) {
    return in_quotes(columns.names[i]) + (i < known ? " (" + role + ")" : "");
  };
  std::vector<std::string> found, of_known;
  const auto combinations = linear_combinations(columns);
  for (const auto& combination : combinations) {
    if (combination.column < known) continue;
    std::vector<std::string> others;
    for (const auto other : combination.others) others.push_back(name(other));
    found.push_back(fmt::format("{} is a linear {} of {}", name(combination.column),
                                others.size() > 1 ? "combination" : "function",
                                fmt::join(others, ", ")));
  }
  for (const auto& function : monotone_functions(columns, combinations)) {
    if (function.column < known) continue;
    auto& texts = function.of < known ? of_known : found;
    texts.push_back(fmt::format("{} is a monotone function of {}",
                                name(function.column), name(function.of)));
  }
  if (found.empty()) return of_known;
  throw InputError(
      fmt::format("{}: expected columns that do not follow from others, found that {}; "
                  "leave out one column of each",
                  columns.source, fmt::join(found, ", and ")));
}

}  // namespace kinflow
