// Splits: nothing lost, blocks whole, parts of about the wanted size.
#include "kinflow/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kinflow/core/random.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Rows = std::vector<std::int64_t>;

/// Every row in exactly one part, each part ascending.
void expect_partition(const Split& parts, std::int64_t rows) {
  Rows all;
  for (const Rows* part : {&parts.train, &parts.valid, &parts.test}) {
    EXPECT_TRUE(std::is_sorted(part->begin(), part->end()));
    all.insert(all.end(), part->begin(), part->end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), rows);
  for (std::int64_t i = 0; i < rows; ++i)
    ASSERT_EQ(all[static_cast<std::size_t>(i)], i);
}

Rows blocks_of_sizes(const std::vector<int>& sizes) {
  Rows result;
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    result.insert(result.end(), static_cast<std::size_t>(sizes[b]),
                  static_cast<std::int64_t>(b));
  }
  return result;
}

Split by_group(const Rows& block_of_row, SplitOptions options) {
  options.by = SplitBy::group;
  options.block_of_row = block_of_row;
  const auto rows = static_cast<std::int64_t>(block_of_row.size());
  const Split parts = split(rows, options);
  expect_partition(parts, rows);
  std::set<std::int64_t> seen[3];
  int p = 0;
  for (const Rows* part : {&parts.train, &parts.valid, &parts.test}) {
    for (const std::int64_t row : *part) {
      seen[p].insert(block_of_row[static_cast<std::size_t>(row)]);
    }
    ++p;
  }
  const std::set<std::int64_t> all(block_of_row.begin(), block_of_row.end());
  EXPECT_EQ(seen[0].size() + seen[1].size() + seen[2].size(), all.size());
  return parts;
}

TEST(Split, RowsGiveExactlyTheWantedNumbers) {
  const Split parts = split(100, {.valid_fraction = 0.2, .test_fraction = 0.1});
  expect_partition(parts, 100);
  EXPECT_EQ(parts.valid.size(), 20u);
  EXPECT_EQ(parts.test.size(), 10u);
}

TEST(Split, TheSeedDecides) {
  EXPECT_EQ(split(100, {.seed = 3}).valid, split(100, {.seed = 3}).valid);
  EXPECT_NE(split(100, {.seed = 3}).valid, split(100, {.seed = 4}).valid);
  const Rows blocks = blocks_of_sizes(std::vector<int>(30, 3));
  EXPECT_EQ(by_group(blocks, {.seed = 3}).valid, by_group(blocks, {.seed = 3}).valid);
  EXPECT_NE(by_group(blocks, {.seed = 3}).valid, by_group(blocks, {.seed = 4}).valid);
}

TEST(Split, NoPartIsEmpty) {
  const Split two = split(2, {.valid_fraction = 0.01});
  EXPECT_EQ(two.train.size(), 1u);
  EXPECT_EQ(two.valid.size(), 1u);
  const Split three = split(3, {.valid_fraction = 0.49, .test_fraction = 0.5});
  EXPECT_EQ(three.train.size(), 1u);
  EXPECT_EQ(three.valid.size(), 1u);
  EXPECT_EQ(three.test.size(), 1u);
  EXPECT_EQ(
      input_error_of([] { split(1, {}); }),
      "[split] expected at least 2 rows for 2 parts that are not empty, received 1");
  EXPECT_EQ(split(3, {.valid_fraction = 0}).train.size(), 3u);
}

TEST(Split, FractionsOutOfRangeAreRefused) {
  input_error_of([] { split(10, {.valid_fraction = 1}); });
  input_error_of([] { split(10, {.valid_fraction = -0.1}); });
  input_error_of([] { split(10, {.valid_fraction = 0.6, .test_fraction = 0.5}); });
  input_error_of([] { split(10, {.valid_fraction = NAN}); });
}

TEST(Split, BlocksStayWholeAndTheFractionIsMet) {
  Random random(5);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int> sizes;
    for (int b = 0; b < 60; ++b)
      sizes.push_back(1 + static_cast<int>(random.below(12)));
    const Rows blocks = blocks_of_sizes(sizes);
    const Split parts =
        by_group(blocks, {.valid_fraction = 0.2, .test_fraction = 0.15, .seed = seed});
    const auto n = static_cast<double>(blocks.size());
    EXPECT_NEAR(static_cast<double>(parts.valid.size()) / n, 0.2, 0.01);
    EXPECT_NEAR(static_cast<double>(parts.test.size()) / n, 0.15, 0.01);
  }
}

TEST(Split, AGiantBlockIsNotHeldOut) {
  std::vector<int> sizes(50, 4);
  sizes[0] = 800;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Split parts = by_group(blocks_of_sizes(sizes), {.seed = seed});
    EXPECT_EQ(parts.train.front(), 0);
    // All the others together are less than the wanted 200; training keeps the giant.
    EXPECT_NEAR(static_cast<double>(parts.valid.size()), 196, 8);
  }
}

TEST(Split, WhereNothingFitsTheSmallestBlockIsHeldOut) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Split parts =
        by_group(blocks_of_sizes({50, 30, 60}), {.valid_fraction = 0.05, .seed = seed});
    EXPECT_EQ(parts.valid.size(), 30u);
  }
}

TEST(Split, TooFewBlocksAreRefused) {
  EXPECT_EQ(
      input_error_of([] { by_group(blocks_of_sizes({50}), {}); }),
      "[split] expected at least 2 groups for 2 parts that are not empty, received 1");
  const Split parts = by_group(blocks_of_sizes({1, 1, 98}),
                               {.valid_fraction = 0.3, .test_fraction = 0.3});
  EXPECT_EQ(parts.train.size() + parts.valid.size(), 99u);
  EXPECT_FALSE(parts.train.empty());
  EXPECT_FALSE(parts.valid.empty());
}

TEST(Split, BlocksMayHaveAnyNumbersInAnyOrder) {
  const Split parts = by_group({-5, 7, -5, 7, 900, 900}, {.valid_fraction = 0.34});
  EXPECT_EQ(parts.valid.size(), 2u);
}

TEST(Split, TheLatestRowsAreHeldOut) {
  const std::vector<double> times = {5, 1, 4, 2, 3, 10, 9, 8, 7, 6};
  const Split parts = split(10, {.by = SplitBy::time,
                                 .valid_fraction = 0.2,
                                 .test_fraction = 0.1,
                                 .time_of_row = times});
  expect_partition(parts, 10);
  EXPECT_EQ(parts.test, (Rows{5}));
  EXPECT_EQ(parts.valid, (Rows{6, 7}));
}

TEST(Split, EqualTimesStayTogether) {
  const std::vector<double> times = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3};
  const Split parts =
      split(10, {.by = SplitBy::time, .valid_fraction = 0.3, .time_of_row = times});
  EXPECT_EQ(parts.valid, (Rows{8, 9}));
  const Split three = split(10, {.by = SplitBy::time,
                                 .valid_fraction = 0.1,
                                 .test_fraction = 0.8,
                                 .time_of_row = times});
  EXPECT_EQ(three.train, (Rows{0, 1, 2, 3}));
  EXPECT_EQ(three.valid, (Rows{4, 5, 6, 7}));
  EXPECT_EQ(three.test, (Rows{8, 9}));
}

TEST(Split, OneTimeOnlyIsRefused) {
  EXPECT_EQ(
      input_error_of([] {
        split(3, {.by = SplitBy::time, .time_of_row = {1, 1, 1}});
      }),
      "[split] expected at least 2 different times for 2 parts that are not empty, "
      "received 1");
}

}  // namespace
}  // namespace kinflow
