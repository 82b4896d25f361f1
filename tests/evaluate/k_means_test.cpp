// Clusters that are there are found.
#include "kinflow/evaluate/k_means.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

// 25 clusters of 20 points on a grid, far from the origin.
at::Tensor grid_of_clusters() {
  auto generator = at::detail::createCPUGenerator(1);
  const auto corner = at::arange(500, at::kLong).remainder(25);
  const auto center =
      at::stack({corner.div(5, "floor"), corner.remainder(5)}, 1).to(at::kFloat);
  return center + 0.02 * at::randn({500, 2}, generator, at::TensorOptions()) + 1000;
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
  auto generator = at::detail::createCPUGenerator(2);
  const auto points = at::randn({200, 3}, generator, at::TensorOptions());
  const auto result = k_means(points, {.clusters = 4});
  double spread = 0;
  for (std::int64_t c = 0; c < 4; ++c) {
    const auto own = points.index_select(0, at::nonzero(result.cluster == c).flatten());
    ASSERT_GT(own.size(0), 0);
    spread += (own - own.mean(0)).square().sum().item<double>();
  }
  EXPECT_NEAR(result.spread, spread, 0.005 * spread);
}

TEST(KMeans, SeedsAndClusteringsDecideAndMoreStartsAreNeverWorse) {
  auto generator = at::detail::createCPUGenerator(3);
  const auto points = at::randn({400, 5}, generator, at::TensorOptions());
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

TEST(KMeans, EqualPointsAndAsManyClustersAsPointsAreNoTrouble) {
  const auto same = k_means(at::ones({30, 2}), {.clusters = 20});
  EXPECT_EQ(same.spread, 0);
  const auto distinct = k_means(at::eye(6), {.clusters = 6, .restarts = 1});
  EXPECT_NEAR(distinct.spread, 0, 1e-5);
  EXPECT_THROW(k_means(at::eye(6), {.clusters = 7}), InputError);
}

}  // namespace
}  // namespace kinflow
