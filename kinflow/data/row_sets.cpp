// Union-find in which the first row of a set stands for it.
#include "kinflow/data/row_sets.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "kinflow/core/size.h"

namespace kinflow {

RowSets::RowSets(std::int64_t rows) : parent_(to_size(rows)) {
  std::iota(parent_.begin(), parent_.end(), std::int64_t{0});
}

std::int64_t RowSets::first_of(std::int64_t row) {
  // Halves the path on the way.
  while (parent_[to_size(row)] != row) {
    parent_[to_size(row)] = parent_[to_size(parent_[to_size(row)])];
    row = parent_[to_size(row)];
  }
  return row;
}

void RowSets::join(std::int64_t a, std::int64_t b) {
  const std::int64_t first_a = first_of(a), first_b = first_of(b);
  parent_[to_size(std::max(first_a, first_b))] = std::min(first_a, first_b);
}

std::vector<std::int64_t> RowSets::numbers() const {
  // A row's parent is not later, so it has its number before.
  std::vector<std::int64_t> result(parent_.size());
  std::int64_t next = 0;
  for (std::size_t i = 0; i < parent_.size(); ++i) {
    const std::size_t parent = to_size(parent_[i]);
    result[i] = parent == i ? next++ : result[parent];
  }
  return result;
}

}  // namespace kinflow
