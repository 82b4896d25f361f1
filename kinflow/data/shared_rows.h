// Rows that two tables have in common.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// How far the rows of a table are those of another one.
struct SharedRows {
  std::int64_t shared = 0;        ///< rows of the table that the other one has too
  bool are_all_the_same = false;  ///< the same rows as often, in any order
  /// Every row of the table, more often than by chance.
  bool are_all_shared = false;
  /// More are shared than rows repeat within the other table, where values are rounded.
  bool are_more_than_chance = false;
};

/// @param rows, others  a hash of all values of every row
SharedRows find_shared_rows(const std::vector<std::uint64_t>& rows,
                            std::vector<std::uint64_t> others);

}  // namespace kinflow
