// Pooled correlations of blocks: their law is a fixed point, and borrowing strength
// from other blocks makes the correlations of small ones better.
#include <cmath>

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

/// Blocks of the given sizes in turn, pooled or not.
Blocks blocks_of(const std::vector<std::int64_t>& sizes, std::int64_t count,
                 BlockCorrelation correlation, std::int64_t columns) {
  std::vector<std::int64_t> labels;
  for (std::int64_t b = 0; b < count; ++b) {
    const auto turn = static_cast<std::size_t>(b) % sizes.size();
    labels.insert(labels.end(), static_cast<std::size_t>(sizes[turn]), b);
  }
  return Blocks(oracle::whole_numbers(labels),
                {.correlation = correlation, .columns = columns});
}

/// What both estimates make of latents whose correlations have a logit-normal law.
struct Comparison {
  double pooled_error;  // mean squared, of the correlations
  double unpooled_error;
  double largest_difference;
  PoolingLaw law;
};

Comparison compare(const std::vector<std::int64_t>& sizes, std::int64_t count,
                   std::int64_t columns, double mu, double tau) {
  Random random(121);
  const Blocks pooled = blocks_of(sizes, count, BlockCorrelation::pooled, columns);
  const Blocks unpooled = blocks_of(sizes, count, BlockCorrelation::per_block, columns);
  const Array truth = nd::sigmoid(mu + tau * oracle::normal({1, count}, random));
  const Array latents = pooled.sample(truth[0], columns, random).unsqueeze(0);
  const Array together = pooled.most_likely(latents, truth, /*prior=*/1);
  const Array alone = unpooled.most_likely(latents, truth, /*prior=*/0);
  return {(together - truth).square().mean().item<double>(),
          (alone - truth).square().mean().item<double>(),
          (together - alone).abs().max().item<double>(), pooled.pooling_law(together)};
}

TEST(PooledBlocks, HalveTheErrorOfSmallBlocks) {
  const Comparison found = compare({2, 3, 4, 5}, 2000, 2, /*mu=*/0.5, /*tau=*/0.7);
  EXPECT_LE(found.pooled_error, 0.5 * found.unpooled_error);
  // The modes of so little information lie above the means, which moves mu upwards.
  EXPECT_NEAR(found.law.mu.item<double>(), 0.5, 0.4);
  EXPECT_NEAR(found.law.tau.item<double>(), 0.7, 0.3);
}

TEST(PooledBlocks, OfManyRowsAreAsTheyAreAlone) {
  const Comparison found = compare({200, 300}, 200, 5, /*mu=*/0, /*tau=*/1);
  EXPECT_LE(found.largest_difference, 0.06);
  EXPECT_NEAR(found.pooled_error / found.unpooled_error, 1, 0.1);
  EXPECT_NEAR(found.law.mu.item<double>(), 0, 0.25);
  EXPECT_NEAR(found.law.tau.item<double>(), 1, 0.2);
}

TEST(PooledBlocks, TheirLawIsTheFixedPointOfEm) {
  Random random(122);
  const std::int64_t columns = 3;
  const Blocks blocks = blocks_of({2, 5, 3}, 40, BlockCorrelation::pooled, columns);
  const Array rho = oracle::uniform({2, 40}, 0.05, 0.95, random);
  // Information by the definition, p/2 tr((C^-1 dC/dx)^2), from dense matrices.
  Array information = nd::empty_like(rho);
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t b = 0; b < 40; ++b) {
      const std::int64_t m = blocks.sizes()[b].item<std::int64_t>();
      const Array pairs = nd::ones({m, m}, nd::kDouble) - nd::eye(m, nd::kDouble);
      const Array covariance = nd::eye(m, nd::kDouble) + rho[r][b] * pairs;
      const Array change =
          nd::mm(nd::linalg_inv(covariance), rho[r][b] * (1 - rho[r][b]) * pairs);
      information[r][b] = 0.5 * columns * nd::mm(change, change).trace();
    }
  }
  const PoolingLaw law = blocks.pooling_law(rho);
  const Array x = nd::logit(rho);
  expect_near(law.mu, x.mean(1), 1e-13, "mu");
  const Array t = law.tau.square().unsqueeze(1);
  expect_near(t.squeeze(1),
              ((x - x.mean(1, true)).square() + 1 / (information + 1 / t)).mean(1),
              1e-10, "tau^2");
  expect_near(blocks.unconstrained_prior_gradient(rho), (x - x.mean(1, true)) / t,
              1e-12, "prior");
}

TEST(PooledBlocks, TheirEstimateIsStationaryUnderTheirPrior) {
  Random random(123);
  const Blocks blocks = blocks_of({2, 4, 6}, 60, BlockCorrelation::pooled, 2);
  const Array truth = nd::sigmoid(oracle::normal({1, 60}, random));
  const Array latents = blocks.sample(truth[0], 2, random).unsqueeze(0);
  const Array rho = blocks.most_likely(latents, truth, /*prior=*/1);
  const Array slope =
      blocks.unconstrained_gradient(rho, blocks.parameter_gradient(rho, latents)) +
      blocks.unconstrained_prior_gradient(rho);
  EXPECT_LE(slope.abs().max().item<double>(), 1e-5);
}

TEST(PooledBlocks, AnEstimateThatDoesNotConvergeIsAnError) {
  const Blocks blocks = blocks_of({2, 4}, 6, BlockCorrelation::pooled, 2);
  Array latents = nd::ones({1, blocks.rows(), 2}, nd::kDouble);
  latents[0][3][1] = std::nan("");
  EXPECT_THROW(
      blocks.most_likely(latents, nd::full({1, 6}, 0.5, nd::kDouble), /*prior=*/1),
      NumericalError);
}

TEST(PooledBlocks, EqualCorrelationsHaveTheSmallestSpread) {
  const Blocks blocks = blocks_of({3}, 4, BlockCorrelation::pooled, 2);
  const PoolingLaw law = blocks.pooling_law(nd::full({1, 4}, 0.3, nd::kDouble));
  EXPECT_NEAR(law.mu.item<double>(), std::log(0.3 / 0.7), 1e-12);
  EXPECT_NEAR(law.tau.item<double>(), 0.1, 1e-12);
}

TEST(PooledBlocks, NeedTheNumberOfColumns) {
  const Array labels = oracle::whole_numbers({0, 0, 1, 1});
  EXPECT_THROW(Blocks(labels, {.correlation = BlockCorrelation::pooled}), InputError);
  EXPECT_THROW(Blocks(labels).pooling_law(nd::full({1, 2}, 0.5, nd::kDouble)),
               InputError);
  const Blocks two(labels, {.correlation = BlockCorrelation::pooled, .columns = 2});
  EXPECT_THROW(two.most_likely(nd::zeros({1, 4, 3}, nd::kDouble),
                               nd::full({1, 2}, 0.5, nd::kDouble), /*prior=*/1),
               InputError);
}

}  // namespace
}  // namespace kinflow
