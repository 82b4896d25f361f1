// Training of image flows on tiny images.
#include "kinflow/engine/images/image_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/images/image_kernels.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

constexpr std::int64_t kSide = 4;

GlowOptions tiny_flow() {
  return {.channels = 1,
          .height = kSide,
          .width = kSide,
          .scales = 1,
          .steps = 2,
          .dense_channels = 8,
          .dense_layers = 1,
          .dense_growth = 8};
}

// Images whose pixels follow a brightness of their own around one of their person.
ImageRows alike_images(std::int64_t people, std::int64_t each, double alike) {
  Random random(11);
  const auto pixels = nd::empty({people * each, 1, kSide, kSide}, nd::kByte);
  auto* pixel = pixels.data_ptr<std::uint8_t>();
  std::vector<std::int64_t> person;
  for (std::int64_t p = 0; p < people; ++p) {
    std::vector<double> face(kSide * kSide);
    for (auto& value : face) value = random.normal();
    for (std::int64_t i = 0; i < each; ++i) {
      person.push_back(p);
      for (const double own : face) {
        const double value =
            std::sqrt(alike) * own + std::sqrt(1 - alike) * random.normal();
        *pixel++ = static_cast<std::uint8_t>(std::clamp(128 + 30 * value, 0.0, 255.0));
      }
    }
  }
  return {.pixels = pixels, .bits = 8, .person = nd::tensor(person, nd::kLong)};
}

ImageTrainOptions short_training() {
  return {.epochs = 10, .batch_size = 16, .learning_rate = 0.01, .seed = 3};
}

TEST(ImageTrainer, LearnsAndCountsItsSteps) {
  auto rows = alike_images(160, 1, 0);
  // Pixels of an image have its brightness in common, which a flow must find.
  seed_numbers(1);
  const auto brightness = 25 * normal_array({160, 1, 1, 1}) + 64;
  rows.pixels = (0.5 * rows.pixels + brightness).clamp(0, 255).to(nd::kByte);
  ImageTrainer trainer(rows, tiny_flow(), short_training(), nd::kCPU);
  EXPECT_EQ(trainer.steps_per_epoch(), 10);
  const double before = image_nll(trainer.flow(), rows, 1).mean().item<double>();
  const auto progress = trainer.run(1000);
  EXPECT_TRUE(trainer.is_finished());
  EXPECT_EQ(progress.steps_done, 100);
  EXPECT_EQ(progress.skipped, 0);
  EXPECT_LT(image_nll(trainer.flow(), rows, 1).mean().item<double>(), before - 2);
}

TEST(ImageTrainer, JointTrainingFindsHowAlikeImagesAre) {
  auto options = short_training();
  options.epochs = 60;
  for (const double alike : {0.1, 0.7}) {
    ImageTrainer trainer(alike_images(40, 4, alike), tiny_flow(), options, nd::kCPU);
    trainer.run(1'000'000);
    const auto found = trainer.correlations();
    EXPECT_EQ(found.size(0), 40);
    EXPECT_NEAR(found.mean().item<double>(), alike, 0.15);
  }
}

TEST(ImageTrainer, GridHoldsItsValueAndBaselineHasNone) {
  auto options = short_training();
  options.schedule = Schedule::grid;
  options.start = 0.25;
  const auto rows = alike_images(20, 4, 0.5);
  ImageTrainer grid(rows, tiny_flow(), options, nd::kCPU);
  grid.run(20);
  EXPECT_LT((grid.correlations() - 0.25).abs().max().item<double>(), 1e-12);
  options.schedule = Schedule::baseline;
  ImageTrainer baseline(rows, tiny_flow(), options, nd::kCPU);
  baseline.run(20);
  EXPECT_EQ(baseline.correlations().numel(), 0);
  EXPECT_FALSE(nd::equal(baseline.flow().values(), grid.flow().values()));
}

TEST(ImageTrainer, AdjustedGradientOfOneImageEachIsTheBaselines) {
  auto options = short_training();
  const auto rows = alike_images(32, 1, 0.5);
  ImageTrainer joint(rows, tiny_flow(), options, nd::kCPU);
  options.schedule = Schedule::baseline;
  ImageTrainer baseline(rows, tiny_flow(), options, nd::kCPU);
  joint.run(5);
  baseline.run(5);
  EXPECT_TRUE(nd::equal(joint.flow().values(), baseline.flow().values()));
}

class ImageTrainerEstimators : public testing::TestWithParam<Estimator> {};

TEST_P(ImageTrainerEstimators, GoOnExactlyFromTheirState) {
  auto options = short_training();
  options.estimator = GetParam();
  const auto rows = alike_images(20, 4, 0.5);
  ImageTrainer whole(rows, tiny_flow(), options, nd::kCPU);
  whole.run(7);
  whole.run(1'000'000);

  ImageTrainer first(rows, tiny_flow(), options, nd::kCPU);
  first.run(3 * first.steps_per_epoch());
  const auto state = first.state();
  first.run(2);
  ImageTrainer second(rows, tiny_flow(), options, nd::kCPU);
  second.restore(state, "checkpoint");
  EXPECT_EQ(second.steps_done(), 3 * second.steps_per_epoch());
  second.run(1'000'000);
  EXPECT_TRUE(nd::equal(second.flow().values(), whole.flow().values()));
  EXPECT_TRUE(nd::equal(second.correlations(), whole.correlations()));
}

INSTANTIATE_TEST_SUITE_P(All, ImageTrainerEstimators,
                         testing::Values(Estimator::memory, Estimator::pairs));

TEST(ImageTrainer, RefusesTheStateOfAnotherTraining) {
  const auto rows = alike_images(20, 4, 0.5);
  ImageTrainer trainer(rows, tiny_flow(), short_training(), nd::kCPU);
  trainer.run(trainer.steps_per_epoch());
  auto state = trainer.state();
  auto other = tiny_flow();
  other.steps = 3;
  ImageTrainer larger(rows, other, short_training(), nd::kCPU);
  EXPECT_THROW(larger.restore(state, "checkpoint"), InputError);
  state["steps_done"] = nd::full({1}, 3, nd::kLong);
  ImageTrainer same(rows, tiny_flow(), short_training(), nd::kCPU);
  EXPECT_THROW(same.restore(state, "checkpoint"), InputError);
}

TEST(ImageTrainer, FlowInvertsItselfAfterTraining) {
  const auto rows = alike_images(40, 4, 0.5);
  auto options = tiny_flow();
  options.scales = 2;
  ImageTrainer trainer(rows, options, short_training(), nd::kCPU);
  trainer.run(1'000'000);
  const auto images = rows.pixels.to(nd::kFloat) / 256 - 0.5;
  const auto& flow = trainer.flow();
  const auto back = flow.from_latent(flow.to_latent(images).latents);
  EXPECT_LT((back - images).abs().max().item<double>(), 1e-4);
}

TEST(ImageTrainer, SkipsStepsThatAreNotFinite) {
  auto options = short_training();
  options.learning_rate = 1e30;
  ImageTrainer trainer(alike_images(20, 4, 0.5), tiny_flow(), options, nd::kCPU);
  const auto progress = trainer.run(1'000'000);
  EXPECT_GT(progress.skipped, 0);
  EXPECT_EQ(progress.taken + progress.skipped, trainer.total_steps());
  EXPECT_TRUE(nd::isfinite(trainer.flow().values()).all().item<bool>());
  // The latents of skipped steps say nothing of the mean.
  EXPECT_LT(trainer.flow().latent_mean().abs().max().item<double>(), 10);
}

TEST(ImageNll, IsThatOfCentredNumbersAndEightBitsForEachPixel) {
  GlowFlow flow(tiny_flow(), 1);
  seed_numbers(4);
  flow.values().add_(normal_array_like(flow.values()), 0.1);
  const auto rows = alike_images(5, 1, 0.5);
  const PixelNoise noise{.seed = 1, .round = nd::full({1}, -1, nd::kLong)};
  const auto result = flow.to_latent(dequantize(rows.pixels, 8, nd::arange(5), noise));
  const double p = kSide * kSide;
  const auto centred = 0.5 * result.latents.to(nd::kDouble).square().sum(1) +
                       0.5 * p * std::log(2 * std::numbers::pi) -
                       result.log_abs_det.to(nd::kDouble);
  const auto bits = (image_nll(flow, rows, 1) - centred) / (p * std::numbers::ln2);
  EXPECT_LT((bits - 8).abs().max().item<double>(), 1e-6);
  EXPECT_GT(result.log_abs_det.abs().min().item<double>(), 1e-3);
}

TEST(Dequantize, StaysInsideItsPixelAndChangesWithTheRound) {
  const auto pixels = nd::arange(256, nd::kByte).view({1, 1, 16, 16});
  const auto rows = nd::zeros({1}, nd::kLong);
  const auto first =
      dequantize(pixels, 8, rows, {.seed = 1, .round = nd::zeros({1}, nd::kLong)});
  const auto second =
      dequantize(pixels, 8, rows, {.seed = 1, .round = nd::ones({1}, nd::kLong)});
  const auto whole = ((first + 0.5) * 256).floor().to(nd::kByte);
  EXPECT_TRUE(nd::equal(whole, pixels));
  EXPECT_FALSE(nd::equal(first, second));
  const auto noise = (first + 0.5) * 256 - pixels.to(nd::kFloat);
  EXPECT_NEAR(noise.mean().item<double>(), 0.5, 0.1);
}

TEST(Dequantize, MirrorsHalfOfTheImages) {
  const auto pixels =
      nd::arange(96, nd::kByte).view({1, 2, 6, 8}).repeat({64, 1, 1, 1});
  PixelNoise noise{.seed = 1, .round = nd::zeros({1}, nd::kLong), .mirrors = true};
  const auto whole = [&] {
    return ((dequantize(pixels, 8, nd::arange(64), noise) + 0.5) * 256)
        .floor()
        .to(nd::kByte);
  };
  const auto first = whole();
  std::int64_t mirrored = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    const bool is_mirrored = nd::equal(first[i], pixels[i].flip(2));
    mirrored += is_mirrored ? 1 : 0;
    EXPECT_TRUE(is_mirrored || nd::equal(first[i], pixels[i])) << i;
  }
  EXPECT_NEAR(static_cast<double>(mirrored), 32, 12);
  noise.round.fill_(1);
  EXPECT_FALSE(nd::equal(whole(), first));
}

TEST(ImageTrainer, AnEpochGivesLatentsTheirMostLikelyMean) {
  // One person has most of the images; a rate of 0 leaves the flow as it is.
  auto rows = alike_images(40, 2, 0.9);
  rows.person.narrow(0, 0, 50).fill_(0);
  auto options = short_training();
  options.schedule = Schedule::grid;
  options.start = 0.6;
  options.learning_rate = 0;
  options.epochs = 1;
  ImageTrainer trainer(rows, tiny_flow(), options, nd::kCPU);
  const auto images = dequantize(rows.pixels, 8, nd::arange(80),
                                 {.seed = 3, .round = nd::ones({1}, nd::kLong)});
  const auto latents = trainer.flow().to_latent(images).latents.to(nd::kDouble);
  trainer.run(1'000'000);
  const auto same = rows.person.unsqueeze(0) == rows.person.unsqueeze(1);
  const auto covariance = 0.6 * same.to(nd::kDouble) + 0.4 * nd::eye(80, nd::kDouble);
  const auto weights = covariance.inverse().sum(0);
  const auto expected = nd::mv(latents.t(), weights) / weights.sum();
  EXPECT_TRUE(
      nd::allclose(trainer.flow().latent_mean().to(nd::kDouble), expected, 1e-4, 1e-5));
  EXPECT_GT((expected - latents.mean(0)).abs().max().item<double>(), 0.05);
  // With other noise too the mean is all but gone.
  const auto left = image_latents(trainer.flow(), rows, 3).to(nd::kDouble);
  EXPECT_LT((nd::mv(left.t(), weights) / weights.sum()).abs().max().item<double>(),
            0.05);
}

TEST(PixelsFromLatents, GiveTheImagesBack) {
  const auto rows = alike_images(8, 2, 0.5);
  ImageTrainer trainer(rows, tiny_flow(), short_training(), nd::kCPU);
  trainer.run(1'000'000);
  const auto latents = image_latents(trainer.flow(), rows, 1);
  EXPECT_TRUE(nd::equal(pixels_from_latents(trainer.flow(), latents, 8), rows.pixels));
}

}  // namespace
}  // namespace kinflow
