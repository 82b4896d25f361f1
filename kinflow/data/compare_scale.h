// Columns of a table beside those of the training rows: another unit shows.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kinflow/data/check_columns.h"

namespace kinflow {

/// A value is far where it lies this many deviations from the mean.
inline constexpr double kFarDeviations = 5;
/// Single values are mistakes or codes where they lie this many deviations away, and so
/// many times as far as all nearer ones: tails do not.
inline constexpr double kLoneDeviations = 50, kLoneSteps = 4;

/// What the training rows have in a column.
struct UsualColumn {
  std::string name;
  double mean = 0;
  double deviation = 0;        ///< 0: the column is not compared
  bool spread_counts = false;  ///< also compare how much values differ
};

/// What the rows of another table have in it.
struct ColumnBeside {
  std::int64_t rows = 0;
  std::int64_t far_rows = 0;   ///< more than kFarDeviations from the usual mean
  double example = 0;          ///< the first of them
  std::int64_t lone_rows = 0;  ///< more than kLoneDeviations from the usual mean
  double lone_example = 0;     ///< the first of them
  /// The nearest of them, and the farthest of all others, in deviations.
  double nearest_lone = std::numeric_limits<double>::infinity(), farthest_other = 0;
  double sum = 0, sum_of_squares = 0;  ///< of deviations from the usual mean

  void add(const ColumnBeside& more);
};

/// Columns of rows beside the usual ones, in their order. Parts of a table add up.
std::vector<ColumnBeside> compare_scale(const ColumnsView& rows,
                                        const std::vector<UsualColumn>& usual);

/// What speaks for another unit, such as "120 of 120 values of 'y' lie more than 5
/// deviations (3.1) from the mean of the training rows (20.1), such as 20133.2": one
/// text for each column in which more than half of the values are far. Nothing where
/// all is as usual.
std::vector<std::string> far_columns(const std::vector<ColumnBeside>& columns,
                                     const std::vector<UsualColumn>& usual);
/// The same for each column whose values differ 20 times less than in the training
/// rows, from 20 rows on.
std::vector<std::string> narrow_columns(const std::vector<ColumnBeside>& columns,
                                        const std::vector<UsualColumn>& usual);
/// The same for each other column that has lone values.
std::vector<std::string> lone_values(const std::vector<ColumnBeside>& columns,
                                     const std::vector<UsualColumn>& usual);
/// Warnings about all three.
/// @param source  file of the rows
std::vector<std::string> warnings_on_scale(const std::string& source,
                                           const std::vector<ColumnBeside>& columns,
                                           const std::vector<UsualColumn>& usual);

}  // namespace kinflow
