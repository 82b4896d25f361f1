// The generator's streams and distributions.
#include "kinflow/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kinflow {
namespace {

TEST(Random, SameSeedAndStreamGiveTheSameNumbers) {
  Random a(7, 3), b(7, 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Random, StreamsDiffer) {
  Random a(7, 3), b(7, 4), c(8, 3);
  EXPECT_NE(a.next(), b.next());
  EXPECT_NE(Random(7, 3).next(), c.next());
}

TEST(Random, NormalHasTheMomentsOfAStandardNormal) {
  Random random(1);
  const int n = 200000;
  double sum = 0, square = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double z = random.normal();
    sum += z;
    square += z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96.0 / n));
}

TEST(Random, BelowIsUniform) {
  Random random(2);
  int count[5] = {};
  for (int i = 0; i < 50000; ++i) ++count[random.below(5)];
  for (const int c : count) EXPECT_NEAR(c, 10000, 500);
}

TEST(Random, PermutationHoldsEveryNumberOnce) {
  auto order = Random(3).permutation(1000);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace kinflow
