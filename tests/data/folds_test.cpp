// Folds: balance, randomness and stretches of time.
#include "kinflow/data/folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kinflow {
namespace {

std::vector<double> worth_of_folds(const std::vector<double>& worth,
                                   const std::vector<std::int64_t>& fold_of_unit,
                                   std::size_t folds) {
  std::vector<double> sums(folds);
  for (std::size_t i = 0; i < worth.size(); ++i) {
    sums[static_cast<std::size_t>(fold_of_unit[i])] += worth[i];
  }
  return sums;
}

TEST(Folds, AreWorthAboutTheSame) {
  // One unit of many rows is worth little more than a pair.
  std::vector<double> worth(101, 4.0 / 3);
  worth[7] = 2 * 1800.0 / 1801;
  const auto sums = worth_of_folds(worth, deal_units(worth, 5, 3), 5);
  const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  EXPECT_LE(*most - *least, 4.0 / 3 + 1e-9);
}

TEST(Folds, OfEqualUnitsDifferByOneUnitAtMostAndFollowTheSeed) {
  const std::vector<double> worth(23, 1);
  const auto first = deal_units(worth, 5, 1);
  EXPECT_EQ(first, deal_units(worth, 5, 1));
  EXPECT_NE(first, deal_units(worth, 5, 2));
  for (const double sum : worth_of_folds(worth, first, 5)) {
    EXPECT_GE(sum, 4);
    EXPECT_LE(sum, 5);
  }
}

TEST(Folds, AreNeverEmptyWithAsManyUnits) {
  const std::vector<double> worth = {0, 0, 5, 0, 0};
  const auto fold_of_unit = deal_units(worth, 5, 9);
  EXPECT_EQ(std::set<std::int64_t>(fold_of_unit.begin(), fold_of_unit.end()).size(),
            5u);
}

TEST(Stretches, FollowTimeAndKeepEqualTimesTogether) {
  const std::vector<double> times = {5, 1, 1, 3, 2, 4, 1, 6};
  const auto stretch = stretches_of_time(times, 3);
  EXPECT_EQ(stretch[1], stretch[2]);
  EXPECT_EQ(stretch[1], stretch[6]);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t j = 0; j < times.size(); ++j) {
      if (times[i] < times[j]) {
        EXPECT_LE(stretch[i], stretch[j]);
      }
    }
  }
  EXPECT_EQ(*std::max_element(stretch.begin(), stretch.end()), 2);
  // The only change of time is cut, far from equal parts as it is.
  EXPECT_EQ(stretches_of_time({1, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 5),
            (std::vector<std::int64_t>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(stretches_of_time({7, 7, 7}, 3), (std::vector<std::int64_t>{0, 0, 0}));
}

}  // namespace
}  // namespace kinflow
