// Parts of the rows for training, validation and test.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

enum class SplitBy {
  group,  ///< all rows of a block go to one part
  rows,   ///< every row by itself, at random
  time    ///< the latest rows are held out; rows of the same time stay together
};

struct SplitOptions {
  SplitBy by = SplitBy::rows;
  double valid_fraction = 0.2;  ///< of all rows; 0: no such part
  double test_fraction = 0;     ///< of all rows; 0: no such part
  std::uint64_t seed = 0;
  std::vector<std::int64_t> block_of_row = {};  ///< [rows], for SplitBy::group
  /// [rows], for SplitBy::group: fractions are those of the sum. Empty: 1 for each row.
  std::vector<double> worth_of_row = {};
  std::vector<double> time_of_row = {};  ///< [rows], for SplitBy::time
};

/// Row numbers of each part, ascending; each row is in exactly one part.
struct Split {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> valid;
  std::vector<std::int64_t> test;
};

/// Splits rows 0 .. rows - 1. The result depends on the options only.
///
/// By group, blocks are taken in random order, and a block that would overshoot the
/// wanted number of rows by more than half of what is still missing is passed over, so
/// no giant block decides; where nothing fits, the smallest block is held out. By time,
/// the parts are cut between different times, as near to the wanted numbers as
/// possible, and the test part is the latest.
///
/// Training gets at least one row, and so does every part whose fraction is not 0;
/// InputError where that cannot be.
Split split(std::int64_t rows, const SplitOptions& options);

}  // namespace kinflow
