// Glow flows against plain tensors with recorded gradients.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "glow_oracle.h"
#include "kinflow/core/error.h"
#include "kinflow/flow/glow/glow_pass.h"

namespace kinflow {
namespace {

using Keep = GlowPassOptions::Keep;

GlowOptions tiny_options() {
  return {.channels = 3,
          .height = 8,
          .width = 4,
          .steps = 2,
          .dense_channels = 8,
          .dense_layers = 2,
          .dense_growth = 16};
}

// Weights that are not zero anywhere, so that every part of a network matters.
GlowFlow disturbed_flow(const GlowOptions& options, at::ScalarType type) {
  GlowFlow flow(options, 3, type);
  at::manual_seed(5);
  flow.values().add_(at::randn({flow.layout().count}, at::kDouble).to(type), 0.1);
  return flow;
}

at::Tensor random_images(const GlowOptions& options, std::int64_t count,
                         at::ScalarType type) {
  at::manual_seed(7);
  return at::rand({count, options.channels, options.height, options.width}, at::kDouble)
             .to(type) -
         0.5;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class GlowArchitectures : public testing::TestWithParam<GlowOptions> {};

TEST_P(GlowArchitectures, MatchPlainTensorsInValueAndGradient) {
  const auto options = GetParam();
  const auto flow = disturbed_flow(options, at::kDouble);
  const auto images = random_images(options, 3, at::kDouble);
  GlowPass pass(flow, 3, {.arithmetic = at::kDouble});
  const auto result = pass.to_latent(images);

  const auto values = flow.values().detach().clone().requires_grad_();
  const auto expected = test::glow_oracle(flow, values, images);
  EXPECT_LT(largest_difference(result.latents, expected.latents), 1e-10);
  EXPECT_LT(largest_difference(result.log_abs_det, expected.log_abs_det), 1e-10);

  const auto slopes = at::randn_like(result.latents);
  const auto scalar =
      (expected.latents * slopes).sum() - 0.7 * expected.log_abs_det.sum();
  const auto gradient = torch::autograd::grad({scalar}, {values})[0];
  EXPECT_LT(largest_difference(pass.backward(slopes, -0.7), gradient), 1e-9);
  EXPECT_GT((gradient != 0).to(at::kDouble).mean().item<double>(), 0.25);
}

TEST_P(GlowArchitectures, LogDeterminantIsThatOfTheJacobian) {
  const auto options = GetParam();
  const auto flow = disturbed_flow(options, at::kDouble);
  const auto images = random_images(options, 1, at::kDouble).requires_grad_();
  const auto traced = test::glow_oracle(flow, flow.values(), images);
  std::vector<at::Tensor> rows;
  for (std::int64_t i = 0; i < traced.latents.size(1); ++i) {
    rows.push_back(
        torch::autograd::grad({traced.latents[0][i]}, {images}, {}, true)[0].flatten());
  }
  const auto [sign, log_abs_det] = at::slogdet(at::stack(rows));
  EXPECT_NEAR(flow.to_latent(images.detach()).log_abs_det[0].item<double>(),
              log_abs_det.item<double>(), 1e-8);
}

TEST_P(GlowArchitectures, InvertThemselves) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const auto options = GetParam();
    const auto flow = disturbed_flow(options, type);
    const auto images = random_images(options, 5, type);
    const auto back = flow.from_latent(flow.to_latent(images).latents);
    EXPECT_LT(largest_difference(back, images), type == at::kDouble ? 1e-10 : 1e-4);
  }
}

TEST_P(GlowArchitectures, TakeTheMeanFromTheirLatents) {
  const auto options = GetParam();
  auto flow = disturbed_flow(options, at::kDouble);
  const auto images = random_images(options, 3, at::kDouble);
  const auto before = flow.to_latent(images);
  flow.latent_mean().copy_(at::arange(dimension(options), at::kDouble));
  const auto after = flow.to_latent(images);
  EXPECT_TRUE(at::allclose(after.latents, before.latents - flow.latent_mean()));
  EXPECT_TRUE(at::equal(after.log_abs_det, before.log_abs_det));
  EXPECT_LT(largest_difference(flow.from_latent(after.latents), images), 1e-10);
  GlowFlow copy(options, 99, at::kDouble);
  copy.copy_from(flow);
  EXPECT_TRUE(at::equal(copy.to_latent(images).latents, after.latents));
}

TEST_P(GlowArchitectures, ComputingNetworksAgainGivesTheSameBits) {
  const auto options = GetParam();
  const auto flow = disturbed_flow(options, at::kFloat);
  const auto images = random_images(options, 4, at::kFloat);
  const auto slopes = at::randn({4, dimension(options)});
  GlowPass all(flow, 4), again(flow, 4, {.keep = Keep::inputs});
  EXPECT_TRUE(
      at::equal(all.to_latent(images).latents, again.to_latent(images).latents));
  EXPECT_TRUE(at::equal(all.backward(slopes, -1), again.backward(slopes, -1)));
}

INSTANTIATE_TEST_SUITE_P(All, GlowArchitectures,
                         testing::Values(
                             tiny_options(),
                             [] {
                               auto options = tiny_options();
                               options.channels = 1;
                               options.kept_quarters = 1;
                               options.activation_norm = false;
                               return options;
                             }(),
                             [] {
                               auto options = tiny_options();
                               options.width = 8;
                               options.scales = 3;
                               options.steps = 1;
                               return options;
                             }()));

TEST(Glow, PaperNetworkHasItsParameters) {
  EXPECT_EQ(GlowLayout(glow_preset(GlowPreset::paper, 3, 32, 32)).count, 89'888'928);
}

TEST(Glow, NamedParametersCoverTheBuffer) {
  const GlowLayout layout(tiny_options());
  std::int64_t end = 0;
  for (const auto& [name, slot] : layout.named()) {
    EXPECT_EQ(slot.offset, end) << name;
    end += slot.count();
  }
  EXPECT_EQ(end, layout.count);
}

TEST(Glow, StartsAsARotationOfTheImage) {
  auto options = tiny_options();
  options.activation_norm = false;
  const GlowFlow flow(options, 1, at::kDouble);
  const auto images = random_images(options, 2, at::kDouble);
  const auto result = flow.to_latent(images);
  EXPECT_LT(largest_difference(result.latents.square().sum(1),
                               images.square().sum({1, 2, 3})),
            1e-10);
  EXPECT_LT(result.log_abs_det.abs().max().item<double>(), 1e-10);
}

TEST(Glow, ActNormStandardizesChannels) {
  auto options = tiny_options();
  options.steps = 1;
  options.scales = 1;
  GlowFlow flow(options, 1, at::kDouble);
  const auto images = 0.02 * random_images(options, 64, at::kDouble) + 3;
  flow.initialize(images);
  const auto latents = flow.to_latent(images).latents;
  EXPECT_LT(latents.mean().abs().item<double>(), 1e-8);
  EXPECT_NEAR(latents.square().mean().item<double>(), 1, 0.01);
}

TEST(Glow, LeavesLatentsAsTheyAre) {
  auto options = tiny_options();
  options.scales = 1;
  const auto flow = disturbed_flow(options, at::kFloat);
  for (const std::int64_t images : {1, 3}) {
    const auto latents = at::randn({images, dimension(options)});
    const auto before = latents.clone();
    flow.from_latent(latents);
    EXPECT_TRUE(at::equal(latents, before));
  }
}

TEST(Glow, FixedNumbersCarryAFlowOver) {
  const auto options = tiny_options();
  const auto flow = disturbed_flow(options, at::kFloat);
  GlowFlow other(options, 99);
  other.values().copy_(flow.values());
  const auto images = random_images(options, 2, at::kFloat);
  EXPECT_FALSE(
      at::equal(other.to_latent(images).latents, flow.to_latent(images).latents));
  other.set_fixed(flow.fixed());
  EXPECT_TRUE(
      at::equal(other.to_latent(images).latents, flow.to_latent(images).latents));
}

TEST(Glow, RefusesShapesThatCannotBeSqueezed) {
  auto options = tiny_options();
  options.height = 10;
  EXPECT_THROW(GlowFlow(options, 1), InputError);
  options = tiny_options();
  options.channels = 2;
  EXPECT_THROW(GlowFlow(options, 1), InputError);
  options = tiny_options();
  options.dense_growth = 12;
  EXPECT_THROW(GlowFlow(options, 1), InputError);
}

}  // namespace
}  // namespace kinflow
