// The likelihood of blocks against dense algebra, and recovery of how correlations
// differ.
#include "kinflow/dependence/correlation_distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kinflow/dependence/per_latent.h"
#include "problems.h"

namespace kinflow {
namespace {

double logit(double share) { return std::log(share / (1 - share)); }
double share_of(double logit) { return 1 / (1 + std::exp(-logit)); }

struct Sizes {
  std::size_t blocks = 300;
  std::int64_t rows = 5;
};

// Latents [n][2] and the block of each row; logit rho of a block in column j is that of
// rhos[j] plus its own effect.
struct Drawn {
  std::vector<double> latents;
  std::vector<std::int64_t> block_of_row;

  Drawn(const std::vector<double>& rhos, double deviation, std::uint64_t seed,
        Sizes sizes = {}) {
    Random random(seed);
    for (std::size_t b = 0; b < sizes.blocks; ++b) {
      const double effect = deviation * random.normal();
      std::vector<double> own, shared;
      for (const double rho : rhos) {
        own.push_back(share_of(logit(rho) + effect));
        shared.push_back(random.normal());
      }
      for (std::int64_t i = 0; i < sizes.rows; ++i) {
        block_of_row.push_back(static_cast<std::int64_t>(b));
        for (std::size_t j = 0; j < rhos.size(); ++j) {
          latents.push_back(std::sqrt(own[j]) * shared[j] +
                            std::sqrt(1 - own[j]) * random.normal());
        }
      }
    }
  }

  BlockSums sums() const { return sum_by_block(latents.data(), 2, block_of_row); }
};

TEST(CorrelationDistribution, WithoutDifferencesOfBlocksGivesTheDenseLogDensity) {
  const Drawn drawn({0.7, 0.2}, 0, 3, {.blocks = 4, .rows = 3});
  const auto found =
      log_densities(drawn.sums(), {.of_latent = {logit(0.6), logit(0.3)}});
  const PerLatent law(
      std::make_shared<Blocks>(nd::tensor(drawn.block_of_row, nd::kLong),
                               BlocksOptions{.correlation = BlockCorrelation::shared}),
      2);
  auto latents = drawn.latents;
  const auto expected =
      law.log_density(nd::tensor({0.6, 0.3}, nd::kDouble).unsqueeze(0),
                      nd::from_blob(latents.data(), {1, 12, 2}, nd::kDouble));
  EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), expected.item<double>(),
              1e-10);
}

TEST(CorrelationDistribution, IntegratesOverTheEffectOfABlock) {
  const Drawn drawn({0.7, 0.2}, 1, 4, {.blocks = 3, .rows = 6});
  const auto sums = drawn.sums();
  const double deviation = 1.3;
  const auto found =
      log_densities(sums, {.of_latent = {0.2, -1}, .deviation_of_blocks = deviation});
  std::vector<double> integral(3, 0);
  const double step = 0.002;
  for (double z = -8; z < 8; z += step) {
    const auto at_effect =
        log_densities(sums, {.of_latent = {0.2 + deviation * z, -1 + deviation * z}});
    for (std::size_t b = 0; b < 3; ++b) {
      integral[b] += step * std::exp(at_effect[b] - 0.5 * z * z) / std::sqrt(2 * M_PI);
    }
  }
  for (std::size_t b = 0; b < 3; ++b)
    EXPECT_NEAR(found[b], std::log(integral[b]), 2e-3);
}

TEST(CorrelationDistribution, IsRecovered) {
  const auto found = most_likely_distribution(
      Drawn({0.8, 0.2}, 1, 5, {.blocks = 1000, .rows = 8}).sums(),
      {.between_latents = true, .between_blocks = true});
  EXPECT_NEAR(found.of_latent[0], logit(0.8), 0.15);
  EXPECT_NEAR(found.of_latent[1], logit(0.2), 0.15);
  EXPECT_NEAR(found.deviation_of_blocks, 1, 0.15);
}

TEST(CorrelationDistribution, BlocksThatAreAlikeHaveNoDeviation) {
  const auto found = most_likely_distribution(
      Drawn({0.5, 0.5}, 0, 6, {.blocks = 1000, .rows = 8}).sums(),
      {.between_latents = false, .between_blocks = true});
  EXPECT_NEAR(found.of_latent[0], 0, 0.1);
  EXPECT_LT(found.deviation_of_blocks, 0.3);
}

TEST(CorrelationDistribution, BlocksOfOneRowAndRowsLeftOutDoNotCount) {
  const std::vector<double> latents = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto sums = sum_by_block(latents.data(), 2, {0, 1, -1, 1});
  ASSERT_EQ(sums.blocks(), 1);
  EXPECT_EQ(sums.rows[0], 2);
  EXPECT_DOUBLE_EQ(sums.along[0], 50);
  EXPECT_DOUBLE_EQ(sums.across[0], 8);
}

}  // namespace
}  // namespace kinflow
