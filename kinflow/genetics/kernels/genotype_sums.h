// Sums of rows of a matrix that are weighted by genotypes.
#pragma once

#include <cstdint>

namespace kinflow {

/// The genotypes of four people are one of 81 rows of a table of sums, so a sum takes a
/// quarter of the additions that a product takes multiplications.
inline constexpr std::int64_t kPeopleOfTable = 4, kRowsOfTable = 81;
/// Tables that are made and used together.
inline constexpr std::int64_t kTablesOfPass = 12;
inline constexpr std::int64_t kPeopleOfPass = kPeopleOfTable * kTablesOfPass;
/// Columns of the matrix that are summed together: a row of a table is a cache line.
inline constexpr std::int64_t kPanel = 16;

/// The kernels of one instruction set. The sum of a variant does not depend on the
/// others, to the last bit.
struct GenotypeSums {
  /// sums[v][j] = sum_i panel[i][j] g_i(v), g being 0, 1 or 2
  /// @param panel    [passes * kPeopleOfPass][kPanel], 64-byte aligned
  /// @param offsets  [passes][variants][kTablesOfPass] where the row of each table
  ///                 starts: kPanel (kRowsOfTable t + g_0 + 3 g_1 + 9 g_2 + 27 g_3)
  /// @param sums     [variants][kPanel], 64-byte aligned
  void (*sum)(const float* panel, std::int64_t passes, const std::uint16_t* offsets,
              std::int64_t variants, float* sums);
};

}  // namespace kinflow
