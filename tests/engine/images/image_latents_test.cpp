// Correlations of the channels of a flow's scales: against dense matrices, and found
// again in simulated images.
#include "kinflow/engine/images/image_latents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <numbers>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/batch_estimator.h"
#include "kinflow/engine/images/image_kernels.h"
#include "kinflow/engine/images/image_trainer.h"
#include "kinflow/flow/glow/glow_pass.h"
#include "small_images.h"

namespace kinflow {
namespace {

constexpr std::int64_t kChannels = 8, kPositions = 4;  // of each scale of small_flow()
constexpr std::int64_t kGroups = 2 * kChannels;

/// The group of a column as the flow lays its latents out: scale, position, channel.
std::int64_t group_of(std::int64_t column) {
  const auto scale = column / (kPositions * kChannels);
  return scale * kChannels + column % kChannels;
}

Array numbers(nd::IntArrayRef shape, std::uint64_t seed) {
  Random random(seed);
  const auto all = nd::empty(shape, nd::kDouble);
  for (std::int64_t i = 0; i < all.numel(); ++i) {
    all.data_ptr<double>()[i] = random.normal();
  }
  return all;
}

/// C of one column.
Array dense(const Array& person, double rho) {
  const auto same = person.unsqueeze(0) == person.unsqueeze(1);
  return rho * same.to(nd::kDouble) + (1 - rho) * nd::eye(person.size(0), nd::kDouble);
}

TEST(LatentGroups, AreTheChannelsOfTheScales) {
  const auto groups = latent_groups(small_flow());
  ASSERT_EQ(groups.parts.size(), 2u);
  EXPECT_EQ(groups.columns(), 64);
  const auto of_column = groups.group_of_column();
  for (std::int64_t column = 0; column < 64; ++column) {
    EXPECT_EQ(of_column[column].item<std::int64_t>(), group_of(column));
  }
  const auto faces = glow_preset(GlowPreset::light, 3, 32, 32);
  EXPECT_EQ(latent_groups(faces).count(), 48);
  EXPECT_EQ(latent_groups(faces).columns(), dimension(faces));
  auto deep = glow_preset(GlowPreset::paper, 3, 32, 32);
  deep.scales = 3;
  const auto scales = latent_scales(deep);
  ASSERT_EQ(scales.size(), 3u);
  EXPECT_EQ(scales[0].groups, 36);
  EXPECT_EQ(scales[0].positions, 64);
  EXPECT_EQ(scales[2].positions, 16);
  EXPECT_EQ(latent_groups(deep).columns(), dimension(deep));
}

/// A flow of two scales, images of people, and a correlation of each channel.
struct SmallProblem {
  GlowFlow flow{small_flow(), 3, nd::kDouble};
  const Array person = nd::tensor({5, 2, 5, 9, 2, 5, 7, 5, 2}, nd::kLong);
  const Array images = 0.3 * numbers({9, 1, 8, 8}, 1);
  const Array rho = 0.05 + 0.9 * nd::sigmoid(numbers({1, kGroups}, 2));
  const std::unique_ptr<Dependence> law =
      make_image_law(person, BlockCorrelation::per_latent, flow.options());

  SmallProblem() {
    flow.values().add_(numbers({flow.layout().count}, 3), 0.1);
    flow.latent_mean().copy_(0.1 * numbers({64}, 4));
  }

  /// -log p of all images, with dense matrices.
  double objective(const Array& correlations) const {
    const auto result = flow.to_latent(images);
    auto sum = 0.5 * 9 * 64 * std::log(2 * std::numbers::pi) -
               result.log_abs_det.sum().item<double>();
    for (std::int64_t j = 0; j < 64; ++j) {
      const auto c = dense(person, correlations[0][group_of(j)].item<double>());
      const auto u = result.latents.narrow(1, j, 1);
      sum += 0.5 * (nd::logdet(c) + (u * nd::linalg_solve(c, u)).sum()).item<double>();
    }
    return sum;
  }

  double slope(const std::function<double(double)>& of) const {
    constexpr double kStep = 1e-5;
    return (of(kStep) - of(-kStep)) / (2 * kStep);
  }
};

TEST(ImageLatents, ObjectiveAndGradientsAreThoseOfDenseMatrices) {
  SmallProblem p;
  GlowPass pass(p.flow, 9, {.arithmetic = nd::kDouble});
  const auto result = pass.to_latent(p.images);
  const auto latents = result.latents.unsqueeze(0);
  EXPECT_NEAR(-p.law->log_density(p.rho, latents).item<double>() -
                  result.log_abs_det.sum().item<double>(),
              p.objective(p.rho), 1e-8);

  const auto all = nd::arange(9);
  const auto estimator = p.law->make_estimator(
      {{.needs_memory = true, .memory_share = 1, .moves_parameters = true}},
      nd::kDouble);
  // What a memory remembers is overwritten, part by part.
  estimator->reset(numbers({1, 9, 64}, 5));
  for (const auto& part : all.split(4)) {
    estimator->precision_rows(p.rho, part, latents.index_select(1, part));
  }
  const auto rows = estimator->precision_rows(p.rho, all, latents)[0];
  const auto of_parameters = estimator->parameter_gradient(p.rho);
  for (std::int64_t group = 0; group < kGroups; ++group) {
    const double expected = p.slope([&](double step) {
      auto moved = p.rho.clone();
      moved[0][group] += step;
      return p.objective(moved);
    });
    EXPECT_NEAR(of_parameters[0][group].item<double>(), expected,
                1e-5 * (1 + std::abs(expected)));
  }
  const auto gradient = pass.backward(rows, -1).clone();
  const auto values = p.flow.values().clone();
  for (std::uint64_t seed = 10; seed < 14; ++seed) {
    const auto direction = numbers({values.size(0)}, seed) / 30;
    const double expected = p.slope([&](double step) {
      p.flow.values().copy_(values + step * direction);
      const double moved = p.objective(p.rho);
      p.flow.values().copy_(values);
      return moved;
    });
    EXPECT_NEAR((gradient * direction).sum().item<double>(), expected,
                1e-5 * (1 + std::abs(expected)));
  }
}

TEST(ImageLatents, PairsOfAllBatchesAreTheExactGradientOnAverage) {
  const SmallProblem p;
  const auto latents = p.flow.to_latent(p.images).latents.unsqueeze(0);
  const auto exact = p.law->precision_times(p.rho, latents);
  auto rows = nd::zeros_like(exact), of_parameters = nd::zeros_like(p.rho);
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      const auto batch = nd::tensor(std::vector<std::int64_t>{i, j}, nd::kLong);
      const auto seen = latents.index_select(1, batch);
      // A row is in 8 of the 36 batches.
      rows.index_add_(1, batch, p.law->pairs_rows(p.rho, batch, seen) / 8);
      of_parameters += p.law->pairs_parameter_gradient(p.rho, batch, seen) / 36;
    }
  }
  EXPECT_LT((rows - exact).abs().max().item<double>(), 1e-10);
  EXPECT_LT((of_parameters - p.law->parameter_gradient(p.rho, latents))
                .abs()
                .max()
                .item<double>(),
            1e-9);
}

ImageTrainOptions training(BlockCorrelation correlation) {
  return {.correlation = correlation,
          .epochs = 30,
          .batch_size = 24,
          .learning_rate = 0.005,
          .seed = 3};
}

/// What people have in common in a simulation: the channels of scale 1 in turn much and
/// hardly anything, those of scale 2 something.
double true_correlation(std::int64_t group) {
  if (group >= kChannels) return 0.3;
  return group % 2 == 0 ? 0.75 : 0.05;
}

/// Images by a flow near that which a training with this seed begins with.
ImageRows simulated(std::int64_t people, std::int64_t each, std::uint64_t seed) {
  GlowFlow flow(small_flow(), training(BlockCorrelation::shared).seed);
  flow.initialize(0.12F * numbers({4096, 1, 8, 8}, 20).to(nd::kFloat));
  const auto person = nd::arange(people).repeat_interleave(each);
  auto latents = numbers({people * each, 64}, seed);
  const auto common = numbers({people, 64}, seed + 1).index_select(0, person);
  for (std::int64_t j = 0; j < 64; ++j) {
    const double rho = true_correlation(group_of(j));
    latents.select(1, j).copy_(std::sqrt(rho) * common.select(1, j) +
                               std::sqrt(1 - rho) * latents.select(1, j));
  }
  return {.pixels = pixels_from_latents(flow, latents, 8),
          .person = each > 1 ? person : Array()};
}

TEST(ImageLatents, CorrelationsOfChannelsAreFoundAndMakeAnImageLikelier) {
  const auto others = simulated(600, 1, 40);
  const auto nll_after = [&](ImageTrainer& trainer) {
    trainer.run(1'000'000);
    return image_nll(trainer.flow(), others, 1).mean().item<double>();
  };
  for (const std::uint64_t seed : {30, 60, 90}) {
    const auto rows = simulated(80, 6, seed);
    ImageTrainer own(rows, small_flow(), training(BlockCorrelation::per_latent),
                     nd::kCPU);
    ImageTrainer shared(rows, small_flow(), training(BlockCorrelation::shared),
                        nd::kCPU);
    const double gain = nll_after(shared) - nll_after(own);
    const auto found = own.latent_correlations();
    ASSERT_EQ(found.size(0), kGroups);
    double largest_error = 0;
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const double error = found[group].item<double>() - true_correlation(group);
      largest_error = std::max(largest_error, std::abs(error));
    }
    EXPECT_LT(largest_error, 0.12) << "seed " << seed;
    EXPECT_GT(gain, 0.1) << "seed " << seed;
    std::cout << "seed " << seed << ": an image is likelier by " << gain
              << " nats, correlations within " << largest_error << "\n";
    EXPECT_EQ(shared.latent_correlations().numel(), 0);
    EXPECT_EQ(shared.correlations().size(0), 80);
    EXPECT_EQ(shared.correlations().min().item<double>(),
              shared.correlations().max().item<double>());
  }
}

TEST(ImageLatents, AnEpochGivesEachLatentItsOwnMostLikelyMean) {
  auto options = training(BlockCorrelation::per_latent);
  options.learning_rate = 0;
  options.epochs = 1;
  auto rows = simulated(24, 4, 50);
  rows.person.narrow(0, 0, 40).fill_(0);
  ImageTrainer trainer(rows, small_flow(), options, nd::kCPU);
  auto state = trainer.state();
  const auto rho = 0.05 + 0.9 * nd::sigmoid(numbers({kGroups}, 6));
  state["unconstrained"] = nd::logit(rho).unsqueeze(0);
  trainer.restore(state, "state");
  const auto images = dequantize(rows.pixels, 8, nd::arange(96),
                                 {.seed = 3, .round = nd::ones({1}, nd::kLong)});
  const auto latents = trainer.flow().to_latent(images).latents.to(nd::kDouble);
  trainer.run(1'000'000);
  for (const std::int64_t column : {0, 5, 17, 40, 63}) {
    const auto weights =
        dense(rows.person, rho[group_of(column)].item<double>()).inverse().sum(0);
    const auto expected = (weights * latents.select(1, column)).sum() / weights.sum();
    EXPECT_NEAR(trainer.flow().latent_mean()[column].item<double>(),
                expected.item<double>(), 1e-5);
  }
}

}  // namespace
}  // namespace kinflow
