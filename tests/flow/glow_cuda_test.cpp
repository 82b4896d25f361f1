// Glow flows on a GPU against the CPU in double precision.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kinflow/flow/cuda_backend.h"
#include "kinflow/flow/glow/glow_pass.h"

namespace kinflow {
namespace {

struct Outcome {
  at::Tensor latents, log_abs_det, gradient;
};

GlowOptions small_options() {
  return {.channels = 3,
          .height = 16,
          .width = 8,
          .steps = 3,
          .dense_channels = 24,
          .dense_layers = 3,
          .dense_growth = 16};
}

class GlowCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA() || !free_device_memory()) GTEST_SKIP() << "no GPU";
    at::manual_seed(5);
    const auto noise = at::randn({GlowLayout(small_options()).count}, at::kDouble);
    values_ = GlowFlow(small_options(), 3, at::kDouble).values() + 0.05 * noise;
    images_ = at::rand({6, 3, 16, 8}, at::kDouble) - 0.5;
    slopes_ = at::randn({6, dimension(small_options())}, at::kDouble);
  }

  Outcome outcome(at::Device device, at::ScalarType type, GlowPassOptions options) {
    GlowFlow flow(small_options(), 3, type, device);
    flow.values().copy_(values_);
    GlowPass pass(flow, 6, options);
    const auto result = pass.to_latent(images_.to(device, type));
    return {.latents = result.latents.cpu().to(at::kDouble),
            .log_abs_det = result.log_abs_det.cpu().to(at::kDouble),
            .gradient =
                pass.backward(slopes_.to(device, type), -0.7).cpu().to(at::kDouble)};
  }

  void expect_near(const Outcome& found, double tolerance) {
    const auto expected = outcome(at::kCPU, at::kDouble, {.arithmetic = at::kDouble});
    const auto error = [](const at::Tensor& a, const at::Tensor& b) {
      return ((a - b).norm() / b.norm()).item<double>();
    };
    EXPECT_LT(error(found.latents, expected.latents), tolerance);
    EXPECT_LT(error(found.log_abs_det, expected.log_abs_det), tolerance);
    EXPECT_LT(error(found.gradient, expected.gradient), tolerance);
  }

  at::Tensor values_, images_, slopes_;
};

TEST_F(GlowCuda, SinglePrecisionMatchesTheCpu) {
  expect_near(outcome(at::kCUDA, at::kFloat, {}), 1e-5);
}

TEST_F(GlowCuda, MixedPrecisionIsCloseToTheCpu) {
  expect_near(outcome(at::kCUDA, at::kFloat, {.arithmetic = at::kBFloat16}), 0.02);
}

TEST_F(GlowCuda, GivesTheSameBitsAgain) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto first = outcome(at::kCUDA, at::kFloat, {.arithmetic = type});
    const auto again = outcome(at::kCUDA, at::kFloat, {.arithmetic = type});
    const auto recomputed =
        outcome(at::kCUDA, at::kFloat,
                {.arithmetic = type, .keep = GlowPassOptions::Keep::inputs});
    EXPECT_TRUE(at::equal(first.gradient, again.gradient));
    EXPECT_TRUE(at::equal(first.gradient, recomputed.gradient));
  }
}

TEST_F(GlowCuda, InvertsItself) {
  GlowFlow flow(small_options(), 3, at::kFloat, at::kCUDA);
  flow.values().copy_(values_);
  const auto images = images_.to(at::kCUDA, at::kFloat);
  const auto back = flow.from_latent(flow.to_latent(images).latents);
  EXPECT_LT((back - images).abs().max().item<double>(), 1e-4);
}

}  // namespace
}  // namespace kinflow
