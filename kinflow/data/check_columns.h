// Columns that a flow cannot learn, found before it is trained, and values that lie
// apart from all others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kinflow {

/// Columns of finite numbers, where they stand in memory.
struct ColumnsView {
  std::string source;  ///< file, for messages
  std::vector<std::string> names;
  std::int64_t rows = 0;
  const double* values = nullptr;
  std::int64_t row_stride = 0;     ///< from a value to that of the next row
  std::int64_t column_stride = 0;  ///< from a value to that of the next column

  double at(std::int64_t row, std::size_t column) const {
    return values[row * row_stride + static_cast<std::int64_t>(column) * column_stride];
  }
};

/// InputError for a column that is the same in all rows.
void check_spread(const ColumnsView& columns);

struct TieRule {
  /// The least share of rows with one value that is refused.
  double share = 0.1;
  std::vector<std::string> allowed = {};  ///< columns that may have ties
  std::string advice = {};                ///< what a user can do, for the message
};
/// A value occurs by chance in a small table, so it must occur this often as well.
inline constexpr std::int64_t kLeastTies = 5;

/// InputError that names the columns in which many rows have one value, or the value of
/// a column before: a density with a peak or a ridge there grows without bound as it
/// becomes narrow.
/// Takes O(rows log(1 / share)) for each column.
void check_ties(const ColumnsView& columns, const TieRule& rule);

/// A column is taken as a linear combination of others where what they leave of it is
/// smaller than this share of its deviation.
inline constexpr double kLeastOwnShare = 1e-3;
/// Rows from which on two columns are not in the same order by chance.
inline constexpr std::int64_t kLeastOrderedRows = 100;

/// InputError that names the columns which follow from others: linear combinations of
/// columns before them, and monotone functions of one other column (copies, logarithms,
/// ranks; from kLeastOrderedRows on, and also where one row in forty is mistaken). The
/// density of such columns has no upper bound.
/// Other functions of one column and nonlinear functions of several are not found.
/// Takes O(rows columns^2), as one matrix product.
/// @param known  columns at the beginning that are given and not modelled. They may
///     follow from each other; the message calls them by `role`
/// @return  texts on modelled columns that are monotone functions of known ones: such
///     as one that grows with time, which may have a density all the same
std::vector<std::string> check_redundancy(const ColumnsView& columns,
                                          std::size_t known = 0,
                                          const std::string& role = {});

/// Rows from which on a column is not in order by chance.
inline constexpr std::int64_t kLeastCountedRows = 20;

/// InputError that names the columns which look like labels of rows: in the order of
/// the rows (numbers of rows, running times, sorted codes), a permutation of
/// consecutive integers, dates or months without hyphens, or with one value in each
/// block.
struct LabelRule {
  std::vector<std::int64_t> block_of_row = {};  ///< [rows]; empty: no blocks
  /// Whether a column with equal values can be in the order of the rows.
  bool ties_are_in_order = true;
  std::string option = "--columns";  ///< names the columns to take, for the message
};
void check_no_labels(const ColumnsView& columns, const LabelRule& rule);

/// A value that lies apart from all others of its column.
struct FarValue {
  std::size_t column = 0;
  std::int64_t row = 0;  ///< the first one
  double value = 0;
  std::int64_t count = 0;    ///< rows with this value
  double low = 0, high = 0;  ///< quantiles 0.1 and 0.9 of the column
};

/// Of each column the farthest value on either side that is both 10 times as far from
/// the median as the 0.1 or 0.9 quantile on its side and 4 times as far as the values
/// on its side that are nearer. Codes such as 9999 and -999 are; the tails of prices,
/// volumes and blood values are not. Also a farthest value that three rows or more
/// have, 1.5 times as far as all nearer ones, in a column whose other values are each
/// less than a third as frequent: -1 among weights.
/// Takes O(rows) for each column.
std::vector<FarValue> far_values(const ColumnsView& columns);
/// A warning about it.
/// @param place  of the value: file and line, or file and person
std::string describe(const FarValue& far, const ColumnsView& columns,
                     const std::string& place);

}  // namespace kinflow
