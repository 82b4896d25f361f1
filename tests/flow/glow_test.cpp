// Glow flows against plain computations with exact derivatives.
#include <gtest/gtest.h>

#include "glow_oracle.h"
#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/flow/glow/glow_pass.h"
#include "tests/random_arrays.h"

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
GlowFlow disturbed_flow(const GlowOptions& options, nd::ScalarType type) {
  GlowFlow flow(options, 3, type);
  seed_numbers(5);
  flow.values().add_(normal_array({flow.layout().count}, type), 0.1);
  return flow;
}

Array random_images(const GlowOptions& options, std::int64_t count,
                    nd::ScalarType type) {
  seed_numbers(7);
  return uniform_array({count, options.channels, options.height, options.width}, type) -
         0.5;
}

double largest_difference(const Array& a, const Array& b) {
  return (a - b).abs().max().item<double>();
}

Array values_of(const std::vector<test::Number>& numbers) {
  std::vector<double> values;
  for (const auto& number : numbers) values.push_back(number.value());
  return nd::tensor(values);
}

class GlowArchitectures : public testing::TestWithParam<GlowOptions> {};

TEST_P(GlowArchitectures, MatchPlainNumbersInValueAndGradient) {
  const auto options = GetParam();
  const auto flow = disturbed_flow(options, nd::kDouble);
  const auto images = random_images(options, 3, nd::kDouble);
  GlowPass pass(flow, 3, {.arithmetic = nd::kDouble});
  const auto result = pass.to_latent(images);

  const auto slopes = normal_array_like(result.latents);
  const auto* slope = slopes.data_ptr<double>();
  const test::GlowOracle oracle(flow);
  auto gradient = nd::zeros_like(flow.values());
  for (std::int64_t image = 0; image < 3; ++image) {
    const auto expected = oracle.to_latent(test::channels_of(images, image));
    auto scalar = -0.7 * expected.log_abs_det;
    for (std::size_t i = 0; i < expected.latents.size(); ++i) {
      scalar += *slope++ * expected.latents[i];
    }
    EXPECT_LT(largest_difference(result.latents[image], values_of(expected.latents)),
              1e-10);
    EXPECT_NEAR(result.log_abs_det[image].item<double>(), expected.log_abs_det.value(),
                1e-10);
    const auto of_image = scalar.slopes();
    gradient += nd::tensor(
        std::vector<double>(of_image.begin(), of_image.begin() + gradient.numel()));
    test::Number::forget_after(oracle.parameters());
  }
  EXPECT_LT(largest_difference(pass.backward(slopes, -0.7), gradient), 1e-9);
  EXPECT_GT((gradient != 0).to(nd::kDouble).mean().item<double>(), 0.25);
}

TEST_P(GlowArchitectures, LogDeterminantIsThatOfTheJacobian) {
  const auto options = GetParam();
  const auto flow = disturbed_flow(options, nd::kDouble);
  const auto images = random_images(options, 1, nd::kDouble);
  const test::GlowOracle oracle(flow);
  auto image = test::channels_of(images, 0);
  for (auto& number : image.numbers) {
    number = test::Number::variable(number.value());
  }
  std::vector<double> jacobian;
  for (const auto& latent : oracle.to_latent(image).latents) {
    const auto slopes = latent.slopes();
    const auto begin = slopes.begin() + image.numbers.front().place();
    jacobian.insert(jacobian.end(), begin, begin + images.numel());
  }
  const auto [sign, log_abs_det] =
      nd::linalg_slogdet(nd::tensor(jacobian).view({images.numel(), images.numel()}));
  EXPECT_NEAR(flow.to_latent(images).log_abs_det[0].item<double>(),
              log_abs_det.item<double>(), 1e-8);
}

TEST_P(GlowArchitectures, InvertThemselves) {
  for (const auto type : {nd::kDouble, nd::kFloat}) {
    const auto options = GetParam();
    const auto flow = disturbed_flow(options, type);
    const auto images = random_images(options, 5, type);
    const auto back = flow.from_latent(flow.to_latent(images).latents);
    EXPECT_LT(largest_difference(back, images), type == nd::kDouble ? 1e-10 : 1e-4);
  }
}

TEST_P(GlowArchitectures, TakeTheMeanFromTheirLatents) {
  const auto options = GetParam();
  auto flow = disturbed_flow(options, nd::kDouble);
  const auto images = random_images(options, 3, nd::kDouble);
  const auto before = flow.to_latent(images);
  flow.latent_mean().copy_(nd::arange(dimension(options), nd::kDouble));
  const auto after = flow.to_latent(images);
  EXPECT_TRUE(nd::allclose(after.latents, before.latents - flow.latent_mean()));
  EXPECT_TRUE(nd::equal(after.log_abs_det, before.log_abs_det));
  EXPECT_LT(largest_difference(flow.from_latent(after.latents), images), 1e-10);
  GlowFlow copy(options, 99, nd::kDouble);
  copy.copy_from(flow);
  EXPECT_TRUE(nd::equal(copy.to_latent(images).latents, after.latents));
}

TEST_P(GlowArchitectures, ComputingNetworksAgainGivesTheSameBits) {
  const auto options = GetParam();
  const auto flow = disturbed_flow(options, nd::kFloat);
  const auto images = random_images(options, 4, nd::kFloat);
  const auto slopes = normal_array({4, dimension(options)});
  GlowPass all(flow, 4), again(flow, 4, {.keep = Keep::inputs});
  EXPECT_TRUE(
      nd::equal(all.to_latent(images).latents, again.to_latent(images).latents));
  EXPECT_TRUE(nd::equal(all.backward(slopes, -1), again.backward(slopes, -1)));
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
  const GlowFlow flow(options, 1, nd::kDouble);
  const auto images = random_images(options, 2, nd::kDouble);
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
  GlowFlow flow(options, 1, nd::kDouble);
  const auto images = 0.02 * random_images(options, 64, nd::kDouble) + 3;
  flow.initialize(images);
  const auto latents = flow.to_latent(images).latents;
  EXPECT_LT(latents.mean().abs().item<double>(), 1e-8);
  EXPECT_NEAR(latents.square().mean().item<double>(), 1, 0.01);
}

TEST(Glow, LeavesLatentsAsTheyAre) {
  auto options = tiny_options();
  options.scales = 1;
  const auto flow = disturbed_flow(options, nd::kFloat);
  for (const std::int64_t images : {1, 3}) {
    const auto latents = normal_array({images, dimension(options)});
    const auto before = latents.clone();
    flow.from_latent(latents);
    EXPECT_TRUE(nd::equal(latents, before));
  }
}

TEST(Glow, FixedNumbersCarryAFlowOver) {
  const auto options = tiny_options();
  const auto flow = disturbed_flow(options, nd::kFloat);
  GlowFlow other(options, 99);
  other.values().copy_(flow.values());
  const auto images = random_images(options, 2, nd::kFloat);
  EXPECT_FALSE(
      nd::equal(other.to_latent(images).latents, flow.to_latent(images).latents));
  other.set_fixed(flow.fixed());
  EXPECT_TRUE(
      nd::equal(other.to_latent(images).latents, flow.to_latent(images).latents));
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
