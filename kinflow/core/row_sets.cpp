// Union-find in which the first row of a set stands for it.
#include "kinflow/core/row_sets.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace kinflow {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

RowSets::RowSets(std::int64_t rows) : parent_(index(rows)) {
  std::iota(parent_.begin(), parent_.end(), std::int64_t{0});
}

std::int64_t RowSets::first_of(std::int64_t row) {
  // Halves the path on the way.
  while (parent_[index(row)] != row) {
    parent_[index(row)] = parent_[index(parent_[index(row)])];
    row = parent_[index(row)];
  }
  return row;
}

void RowSets::join(std::int64_t a, std::int64_t b) {
  const std::int64_t first_a = first_of(a), first_b = first_of(b);
  parent_[index(std::max(first_a, first_b))] = std::min(first_a, first_b);
}

std::vector<std::int64_t> RowSets::numbers() const {
  // A row's parent is not later, so it has its number before.
  std::vector<std::int64_t> result(parent_.size());
  std::int64_t next = 0;
  for (std::size_t i = 0; i < parent_.size(); ++i) {
    const std::size_t parent = index(parent_[i]);
    result[i] = parent == i ? next++ : result[parent];
  }
  return result;
}

}  // namespace kinflow
