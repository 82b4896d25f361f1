// The most likely mean of latents, and densities around it.
#include "kinflow/train/images/latent_place.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kinflow/train/images/image_model.h"
#include "tests/train/images/small_images.h"

namespace kinflow {
namespace {

TEST(MostLikelyMean, IsThatOfTheDenseCovariance) {
  // People 4 (three images), 1 (two) and 9 (one), mixed.
  const auto person = at::tensor({4, 1, 4, 9, 1, 4}, at::kLong);
  const auto correlations = at::tensor({0.3, 0.8}, at::kDouble);  // of 1 and of 4
  const auto latents = at::arange(12, at::kDouble).square().view({6, 2});
  auto covariance = at::eye(6, at::kDouble);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) {
      const auto who = person[i].item<std::int64_t>();
      if (i == j || who != person[j].item<std::int64_t>()) continue;
      covariance[i][j] = who == 1 ? 0.3 : 0.8;
    }
  }
  const auto weights = covariance.inverse().sum(0);
  const auto expected = (weights.unsqueeze(1) * latents).sum(0) / weights.sum();
  EXPECT_TRUE(at::allclose(most_likely_mean(latents, person, correlations), expected,
                           1e-12, 1e-12));
}

TEST(MostLikelyMean, WithoutCorrelationsIsThePlainMean) {
  const auto person = at::tensor({0, 0, 1}, at::kLong);
  const auto latents = at::tensor({1.0, 2.0, 6.0}, at::kDouble).view({3, 1});
  EXPECT_DOUBLE_EQ(
      most_likely_mean(latents, person, at::empty({0}, at::kDouble)).item<double>(), 3);
}

TEST(ImageNllAround, IsTheDensityOfLatentsWithThatMean) {
  const auto simulated = simulate_images(small_images());
  const auto rows = rows_of(simulated.test);
  const GlowFlow flow(small_flow(), 5);
  const auto plain = image_nll(flow, rows, 2);
  const auto zero = at::zeros({64}, at::kDouble);
  EXPECT_TRUE(at::allclose(image_nll_around(zero, flow, rows, 2), plain));
  const auto mean = at::linspace(-1, 1, 64, at::kDouble);
  const auto latents = image_latents(flow, rows, 2).to(at::kDouble);
  // log N(u; m) - log N(u; 0) = u m - m^2 / 2
  const auto gain = (latents * mean).sum(1) - 0.5 * mean.square().sum();
  EXPECT_TRUE(at::allclose(image_nll_around(mean, flow, rows, 2), plain - gain));
}

}  // namespace
}  // namespace kinflow
