// Clusters that are there are found.
#include "kinflow/evaluate/k_means.h"

#include <gtest/gtest.h>

#include <set>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

// 25 clusters of 20 points on a grid, far from the origin.
Array grid_of_clusters() {
  const auto corner = nd::arange(500, nd::kLong).remainder(25);
  const auto center =
      nd::stack({corner.floor_divide(5), corner.remainder(5)}, 1).to(nd::kFloat);
  return center + 0.02 * normal({500, 2}, 1) + 1000;
}

TEST(KMeans, FindsClustersThatAreFarApart) {
  const auto points = grid_of_clusters();
  const auto result = k_means(points, {.clusters = 25, .restarts = 20});
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 25; ++i) {
    const auto of_one = result.cluster.slice(0, i, 500, 25);
    EXPECT_TRUE((of_one == of_one[0]).all().item<bool>());
    seen.insert(of_one[0].item<std::int64_t>());
  }
  EXPECT_EQ(seen.size(), 25U);
  EXPECT_NEAR(result.spread, 500 * 2 * 0.02 * 0.02, 0.06);
}

TEST(KMeans, SpreadIsTheSumOfSquaredDistancesToTheMeansOfClusters) {
  const auto points = normal({200, 3}, 2);
  const auto result = k_means(points, {.clusters = 4});
  double spread = 0;
  for (std::int64_t c = 0; c < 4; ++c) {
    const auto own = points.index_select(0, nd::nonzero(result.cluster == c).flatten());
    ASSERT_GT(own.size(0), 0);
    spread += (own - own.mean(0)).square().sum().item<double>();
  }
  EXPECT_NEAR(result.spread, spread, 0.005 * spread);
}

TEST(KMeans, SeedsAndClusteringsDecideAndMoreStartsAreNeverWorse) {
  const auto points = normal({400, 5}, 3);
  const auto run = [&](std::uint64_t seed, std::int64_t clustering,
                       std::int64_t starts) {
    return k_means(points,
                   {.restarts = starts, .seed = seed, .clustering = clustering});
  };
  EXPECT_TRUE(run(1, 0, 2).cluster.equal(run(1, 0, 2).cluster));
  EXPECT_FALSE(run(1, 0, 2).cluster.equal(run(2, 0, 2).cluster));
  EXPECT_FALSE(run(1, 0, 2).cluster.equal(run(1, 1, 2).cluster));
  EXPECT_LE(run(1, 0, 8).spread, run(1, 0, 1).spread);
}

TEST(KMeans, TheUnitOfPointsDecidesNothing) {
  const auto points = normal({100, 4}, 4);
  const auto result = k_means(points);
  for (const double unit : {1e-30, 1e30}) {
    const auto other = k_means(points * unit);
    EXPECT_TRUE(other.cluster.equal(result.cluster)) << unit;
    EXPECT_NEAR(other.spread / unit / unit, result.spread, 1e-5 * result.spread);
  }
}

TEST(KMeans, EqualPointsAndAsManyClustersAsPointsAreNoTrouble) {
  const auto same = k_means(nd::ones({30, 2}), {.clusters = 20});
  EXPECT_EQ(same.spread, 0);
  const auto distinct = k_means(nd::eye(6), {.clusters = 6, .restarts = 1});
  EXPECT_NEAR(distinct.spread, 0, 1e-5);
  EXPECT_THROW(k_means(nd::eye(6), {.clusters = 7}), InputError);
  EXPECT_THROW(k_means(nd::ones({30, 0})), InputError);
}

}  // namespace
}  // namespace kinflow
