// Sets of connected rows against walks over all pairs.
#include "kinflow/data/row_sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kinflow/core/random.h"

namespace kinflow {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Numbers of the sets: every row takes the smallest number of the rows it is joined
/// to until nothing changes, and what is left is counted.
Numbers spread_numbers(std::int64_t rows,
                       const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  Numbers first;
  for (std::int64_t i = 0; i < rows; ++i) first.push_back(i);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (const auto& [a, b] : pairs) {
      if (first[a] == first[b]) continue;
      first[a] = first[b] = std::min(first[a], first[b]);
      has_changed = true;
    }
  }
  Numbers numbers(first.size());
  std::int64_t next = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto of_first = static_cast<std::size_t>(first[i]);
    numbers[i] = of_first == i ? next++ : numbers[of_first];
  }
  return numbers;
}

TEST(RowSets, WithoutPairsEveryRowIsASet) {
  EXPECT_EQ(RowSets(3).numbers(), (Numbers{0, 1, 2}));
  EXPECT_EQ(RowSets(0).numbers(), Numbers{});
}

TEST(RowSets, AreNumberedByTheirFirstRowsWhateverTheOrderOfPairs) {
  Random random(301);
  for (const std::int64_t rows : {2, 7, 40, 200}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      RowSets sets(rows);
      std::vector<std::pair<std::size_t, std::size_t>> pairs;
      for (std::int64_t k = 0; k < rows / 2; ++k) {
        const auto a = static_cast<std::int64_t>(random.next() % std::uint64_t(rows));
        const auto b = static_cast<std::int64_t>(random.next() % std::uint64_t(rows));
        sets.join(a, b);
        pairs.emplace_back(a, b);
      }
      EXPECT_EQ(sets.numbers(), spread_numbers(rows, pairs));
    }
  }
}

}  // namespace
}  // namespace kinflow
