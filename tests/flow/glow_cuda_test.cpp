// Glow flows on a GPU against the CPU in double precision.
#include <gtest/gtest.h>

#include "kinflow/array/array.h"
#include "kinflow/flow/cuda/cuda_backend.h"
#include "kinflow/flow/glow/glow_pass.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

struct Outcome {
  Array latents, log_abs_det, gradient;
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
    if (!nd::hasCUDA() || !free_device_memory()) GTEST_SKIP() << "no GPU";
    seed_numbers(5);
    const auto noise = normal_array({GlowLayout(small_options()).count}, nd::kDouble);
    values_ = GlowFlow(small_options(), 3, nd::kDouble).values() + 0.05 * noise;
    images_ = uniform_array({6, 3, 16, 8}, nd::kDouble) - 0.5;
    slopes_ = normal_array({6, dimension(small_options())}, nd::kDouble);
  }

  Outcome outcome(nd::Device device, nd::ScalarType type, GlowPassOptions options) {
    GlowFlow flow(small_options(), 3, type, device);
    flow.values().copy_(values_);
    GlowPass pass(flow, 6, options);
    const auto result = pass.to_latent(images_.to(device, type));
    return {.latents = result.latents.cpu().to(nd::kDouble),
            .log_abs_det = result.log_abs_det.cpu().to(nd::kDouble),
            .gradient =
                pass.backward(slopes_.to(device, type), -0.7).cpu().to(nd::kDouble)};
  }

  void expect_near(const Outcome& found, double tolerance) {
    const auto expected = outcome(nd::kCPU, nd::kDouble, {.arithmetic = nd::kDouble});
    const auto error = [](const Array& a, const Array& b) {
      return ((a - b).norm() / b.norm()).item<double>();
    };
    EXPECT_LT(error(found.latents, expected.latents), tolerance);
    EXPECT_LT(error(found.log_abs_det, expected.log_abs_det), tolerance);
    EXPECT_LT(error(found.gradient, expected.gradient), tolerance);
  }

  Array values_, images_, slopes_;
};

TEST_F(GlowCuda, SinglePrecisionMatchesTheCpu) {
  expect_near(outcome(nd::kCUDA, nd::kFloat, {}), 1e-5);
}

TEST_F(GlowCuda, MixedPrecisionIsCloseToTheCpu) {
  expect_near(outcome(nd::kCUDA, nd::kFloat, {.arithmetic = nd::kBFloat16}), 0.02);
}

TEST_F(GlowCuda, GivesTheSameBitsAgain) {
  for (const auto type : {nd::kFloat, nd::kBFloat16}) {
    const auto first = outcome(nd::kCUDA, nd::kFloat, {.arithmetic = type});
    const auto again = outcome(nd::kCUDA, nd::kFloat, {.arithmetic = type});
    const auto recomputed =
        outcome(nd::kCUDA, nd::kFloat,
                {.arithmetic = type, .keep = GlowPassOptions::Keep::inputs});
    EXPECT_TRUE(nd::equal(first.gradient, again.gradient));
    EXPECT_TRUE(nd::equal(first.gradient, recomputed.gradient));
  }
}

TEST_F(GlowCuda, InvertsItself) {
  GlowFlow flow(small_options(), 3, nd::kFloat, nd::kCUDA);
  flow.values().copy_(values_);
  const auto images = images_.to(nd::kCUDA, nd::kFloat);
  const auto back = flow.from_latent(flow.to_latent(images).latents);
  EXPECT_LT((back - images).abs().max().item<double>(), 1e-4);
}

}  // namespace
}  // namespace kinflow
