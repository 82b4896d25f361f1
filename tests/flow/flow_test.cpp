// Flows against an autograd Jacobian, round trips, and behaviour at the edges.
#include "kinflow/flow/flow.h"

#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "kinflow/core/random.h"
#include "kinflow/flow/density.h"
#include "tests/flow/architectures.h"

namespace kinflow {
namespace {

TEST(Flow, LogDeterminantMatchesTheAutogradJacobian) {
  for (const auto& options : architectures()) {
    const auto flow = random_flow(options, {1, 2}, at::kDouble, 0.2);
    const std::int64_t rows = 6, p = options.dimension;
    // Some rows lie in the tails.
    const auto data = (normal({2, rows, p}, 5, 2.5)).requires_grad_();
    const auto context = context_for(options, 2, rows);
    const auto result = flow.to_latent(data, context);
    std::vector<at::Tensor> jacobian_rows;
    for (std::int64_t column = 0; column < p; ++column) {
      jacobian_rows.push_back(torch::autograd::grad(
          {result.latents.select(-1, column).sum()}, {data}, {}, true)[0]);
    }
    const auto jacobian = at::stack(jacobian_rows, -2);  // [R, b, p, p]
    const auto expected = std::get<1>(at::linalg_slogdet(jacobian));
    EXPECT_LT((result.log_abs_det - expected).abs().max().item<double>(), 1e-10);
  }
}

TEST(Flow, WeightGradientsMatchFiniteDifferences) {
  for (const auto& options : architectures()) {
    auto flow = random_flow(options, {1}, at::kDouble, 0.2);
    const auto data = normal({1, 5, options.dimension}, 6, 1.5);
    const auto context = context_for(options, 1, 5);
    const auto loss = [&] {
      const auto result = flow.to_latent(data, context);
      return (result.latents.square().sum() - result.log_abs_det.sum());
    };
    const auto gradient = flow.gradient_of(loss());
    Random random(4);
    const c10::NoGradGuard no_grad;
    for (int trial = 0; trial < 12; ++trial) {
      auto weight = flow.values().view({-1})[random.below(flow.values().numel())];
      const auto offset = weight.storage_offset();
      const double before = weight.item<double>(), step = 1e-5;
      weight.fill_(before + step);
      const double up = loss().item<double>();
      weight.fill_(before - step);
      const double down = loss().item<double>();
      weight.fill_(before);
      const double analytic = gradient.view({-1})[offset].item<double>();
      EXPECT_NEAR(analytic, (up - down) / (2 * step), 1e-6 * (1 + std::abs(analytic)));
    }
  }
}

TEST(Flow, RoundTripInDoublePrecision) {
  for (const auto& options : architectures()) {
    const auto flow = random_flow(options, {1, 2, 3}, at::kDouble, 0.1);
    const auto data = normal({3, 2000, options.dimension}, 8, 3);
    const auto context = context_for(options, 3, 2000);
    const c10::NoGradGuard no_grad;
    const auto back = flow.from_latent(flow.to_latent(data, context).latents, context);
    EXPECT_LT((back - data).abs().max().item<double>(), 1e-10);
  }
}

TEST(Flow, RoundTripOfAMillionRowsInSinglePrecision) {
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    const FlowOptions options{.kind = kind, .dimension = 2};
    const auto flow = random_flow(options, {1}, at::kFloat, 0.02);
    // Half of the rows reach far into the tails.
    auto data = normal({1, 1'000'000, 2}, 9).to(at::kFloat);
    data.narrow(1, 0, 500'000).mul_(5);
    const auto result = all_latents(flow, data[0], at::Tensor());
    const auto back = all_data(flow, result.latents, at::Tensor());
    EXPECT_LT((back - data).abs().max().item<double>(), 1e-5);
    // The flow is no identity.
    EXPECT_GT(result.log_abs_det.std().item<double>(), 0.01);
  }
}

TEST(Flow, ReplicasAreIndependentOfEachOther) {
  const FlowOptions options{.dimension = 3, .hidden = {8}, .bins = 4};
  const auto both = random_flow(options, {7, 8}, at::kDouble);
  Flow second(options, {0}, at::kDouble);
  {
    const c10::NoGradGuard no_grad;
    second.values().copy_(both.values().narrow(0, 1, 1));
  }
  const auto data = normal({1, 20, 3}, 10);
  const auto together = both.to_latent(data.expand({2, 20, 3})).latents[1];
  EXPECT_TRUE(at::equal(together, second.to_latent(data).latents[0]));
  EXPECT_FALSE(at::equal(both.values()[0], both.values()[1]));
}

TEST(Flow, StartsAsTheIdentityWithWeightsOfItsSeed) {
  const Flow flow({.dimension = 2}, {1, 2}), same({.dimension = 2}, {1, 2});
  const auto data = normal({1, 500, 2}, 11).to(at::kFloat).expand({2, 500, 2});
  const auto latents = flow.to_latent(data).latents.detach();
  EXPECT_LT((latents - data).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(at::equal(flow.values(), same.values()));
  EXPECT_FALSE(at::equal(flow.values()[0], flow.values()[1]));
}

TEST(Flow, ValuesFarOutsideStayFinite) {
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    auto flow = random_flow({.kind = kind, .dimension = 2}, {1}, at::kFloat);
    const auto data = at::tensor({1e6, -1e6, 0.0, 1e6, -1e18, 0.1, 5.0, -5.0})
                          .to(at::kFloat)
                          .view({1, 4, 2});
    const auto result = flow.to_latent(data);
    EXPECT_TRUE(at::isfinite(result.latents).all().item<bool>());
    EXPECT_TRUE(at::isfinite(result.log_abs_det).all().item<bool>());
    const auto gradient =
        flow.gradient_of(result.log_abs_det.sum() + result.latents.sum());
    EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  }
}

TEST(Flow, ExtremeWeightsGiveFiniteSplines) {
  auto flow = random_flow({.dimension = 2, .hidden = {16}}, {1}, at::kFloat, 100);
  const auto data = normal({1, 1000, 2}, 12, 2).to(at::kFloat);
  const auto result = flow.to_latent(data);
  EXPECT_TRUE(at::isfinite(result.latents).all().item<bool>());
  EXPECT_TRUE(at::isfinite(result.log_abs_det).all().item<bool>());
  const auto gradient =
      flow.gradient_of(result.log_abs_det.sum() + result.latents.sum());
  EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
}

TEST(Flow, AffineStartsAsTheIdentity) {
  const Flow flow({.kind = FlowKind::affine, .dimension = 3, .layers = 2}, {1, 2},
                  at::kDouble);
  const auto data = normal({2, 40, 3}, 13, 4);
  EXPECT_TRUE(at::allclose(flow.to_latent(data).latents, data, 0, 1e-12));
}

TEST(Flow, ParameterCountIsKnownBeforehand) {
  for (const auto& options : architectures()) {
    const Flow flow(options, {1});
    EXPECT_EQ(parameter_count(options), static_cast<double>(flow.values().size(1)));
  }
}

TEST(Flow, ThePlanHasTheOffsetsOfTheBuffer) {
  for (const auto& options : architectures()) {
    const Flow flow(options, {0});
    const auto plan = make_plan(options);
    EXPECT_EQ(plan.parameters, flow.values().size(1));
    std::vector<std::int64_t> offsets;
    for (const auto& coupling : plan.couplings) {
      for (const auto& linear : coupling.linears) {
        if (linear.inputs > 0) offsets.push_back(linear.weight);
        offsets.push_back(linear.bias);
      }
      if (coupling.shift >= 0) {
        offsets.insert(offsets.end(), {coupling.log_scale, coupling.shift});
      }
    }
    if (options.latent_map) offsets.push_back(plan.latent_map);
    ASSERT_EQ(offsets.size(), flow.slots().size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      EXPECT_EQ(offsets[i], flow.slots()[i].offset) << flow.slots()[i].name;
    }
  }
}

TEST(Flow, RandomPermutationsMapEveryColumnInTwoLayers) {
  const FlowOptions options{.dimension = 7,
                            .layers = 2,
                            .hidden = {4},
                            .permutation = Permutation::random,
                            .permutation_seed = 5};
  const auto flow = random_flow(options, {1}, at::kDouble);
  const auto data = normal({1, 50, 7}, 14);
  const auto moved = (flow.to_latent(data).latents - data).abs().amax(1);
  EXPECT_GT(moved.min().item<double>(), 1e-6);
}

}  // namespace
}  // namespace kinflow
