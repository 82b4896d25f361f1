// Sets of rows that pairs connect.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// Rows from 0 to n - 1, each in a set of its own until pairs join them (union-find).
class RowSets {
 public:
  explicit RowSets(std::int64_t rows);

  void join(std::int64_t a, std::int64_t b);

  /// The set of every row: [n], numbered from 0 in the order of their first rows.
  std::vector<std::int64_t> numbers() const;

 private:
  std::int64_t first_of(std::int64_t row);

  // A row of the same set that is not later; the set's first row has itself.
  std::vector<std::int64_t> parent_;
};

}  // namespace kinflow
