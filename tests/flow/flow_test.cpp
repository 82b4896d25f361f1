// Flows against plain computations with exact derivatives and against differences,
// round trips, and behaviour at the edges.
#include "kinflow/flow/flow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"
#include "kinflow/core/workers.h"
#include "kinflow/flow/cpu/fused_flow.h"
#include "kinflow/flow/density.h"
#include "tests/flow/architectures.h"
#include "tests/flow/central_differences.h"
#include "tests/flow/plain_flow.h"

namespace kinflow {
namespace {

// Latents [R, b, p] and Jacobians [R, b, p, p] number by number.
struct PlainRows {
  Array latents, jacobian;
};

PlainRows plain_rows(const Flow& flow, const Array& data, const Array& context) {
  std::vector<double> latents, jacobian;
  for (std::int64_t r = 0; r < flow.replicas(); ++r) {
    const test::PlainFlow<double> plain(flow, r);
    const auto context_of_replica = context.defined() ? context[r] : context;
    for (std::int64_t row = 0; row < data.size(1); ++row) {
      const auto place = static_cast<std::ptrdiff_t>(plain.parameters());
      const auto result =
          plain.to_latent(test::variables<double>(data[r], row),
                          test::constants<double>(context_of_replica, row));
      for (const auto& latent : result.latents) {
        const auto slopes = latent.slopes();
        latents.push_back(latent.value());
        jacobian.insert(jacobian.end(), slopes.begin() + place,
                        slopes.begin() + place + data.size(2));
      }
      test::Recorded<double>::forget_after(plain.parameters());
    }
  }
  return {.latents = nd::tensor(latents).view(data.sizes()),
          .jacobian = nd::tensor(jacobian).view(
              {data.size(0), data.size(1), data.size(2), data.size(2)})};
}

TEST(Flow, LogDeterminantMatchesTheJacobian) {
  for (const auto& options : architectures()) {
    const auto flow = random_flow(options, {1, 2}, nd::kDouble, 0.2);
    const std::int64_t rows = 6, p = options.dimension;
    // Some rows lie in the tails.
    const auto data = normal({2, rows, p}, 5, 2.5);
    const auto context = context_for(options, 2, rows);
    const auto result = flow.to_latent(data, context);
    const auto plain = plain_rows(flow, data, context);
    EXPECT_LT((result.latents - plain.latents).abs().max().item<double>(), 1e-12);
    const auto expected = std::get<1>(nd::linalg_slogdet(plain.jacobian));
    EXPECT_LT((result.log_abs_det - expected).abs().max().item<double>(), 1e-10);

    // The Jacobian is that of the flow itself.
    for (std::int64_t column = 0; column < p; ++column) {
      const auto slopes = test::central_derivative(
          [&](double step) {
            const auto moved = data.clone();
            moved.select(-1, column).add_(step);
            return flow.to_latent(moved, context).latents;
          },
          1e-5);
      EXPECT_LT((slopes - plain.jacobian.select(-1, column)).abs().max().item<double>(),
                1e-6);
    }
  }
}

TEST(Flow, WeightGradientsMatchFiniteDifferences) {
  for (const auto& options : architectures()) {
    auto flow = random_flow(options, {1}, nd::kDouble, 0.2);
    const auto data = normal({1, 5, options.dimension}, 6, 1.5);
    const auto context = context_for(options, 1, 5);
    const auto loss = [&] {
      const auto result = flow.to_latent(data, context);
      return (result.latents.square().sum() - result.log_abs_det.sum()).item<double>();
    };
    const auto gradient = test::plain_gradient(
        flow, data, context, 2 * flow.to_latent(data, context).latents, -1);
    Random random(4);
    for (int trial = 0; trial < 12; ++trial) {
      const auto place = random.below(flow.values().numel());
      const auto weight = flow.values().view({-1})[place];
      const double before = weight.item<double>();
      const double slope = test::central_derivative(
          [&](double step) {
            weight.fill_(before + step);
            return loss();
          },
          1e-5);
      weight.fill_(before);
      const double analytic = gradient.view({-1})[place].item<double>();
      EXPECT_NEAR(analytic, slope, 1e-6 * (1 + std::abs(analytic)));
    }
  }
}

TEST(Flow, RoundTripInDoublePrecision) {
  for (const auto& options : architectures()) {
    const auto flow = random_flow(options, {1, 2, 3}, nd::kDouble, 0.1);
    const auto data = normal({3, 2000, options.dimension}, 8, 3);
    const auto context = context_for(options, 3, 2000);
    const auto back = flow.from_latent(flow.to_latent(data, context).latents, context);
    EXPECT_LT((back - data).abs().max().item<double>(), 1e-10);
  }
}

TEST(Flow, RoundTripOfAMillionRowsInSinglePrecision) {
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    const FlowOptions options{.kind = kind, .dimension = 2};
    const auto flow = random_flow(options, {1}, nd::kFloat, 0.02);
    // Half of the rows reach far into the tails.
    auto data = normal({1, 1'000'000, 2}, 9).to(nd::kFloat);
    data.narrow(1, 0, 500'000).mul_(5);
    const auto result = all_latents(flow, data[0], Array());
    const auto back = all_data(flow, result.latents, Array());
    EXPECT_LT((back - data).abs().max().item<double>(), 1e-5);
    // The flow is no identity.
    EXPECT_GT(result.log_abs_det.std().item<double>(), 0.01);
  }
}

TEST(Flow, ReplicasAreIndependentOfEachOther) {
  const FlowOptions options{.dimension = 3, .hidden = {8}, .bins = 4};
  const auto both = random_flow(options, {7, 8}, nd::kDouble);
  Flow second(options, {0}, nd::kDouble);
  second.values().copy_(both.values().narrow(0, 1, 1));
  const auto data = normal({1, 20, 3}, 10);
  const auto together = both.to_latent(data.expand({2, 20, 3})).latents[1];
  EXPECT_TRUE(nd::equal(together, second.to_latent(data).latents[0]));
  EXPECT_FALSE(nd::equal(both.values()[0], both.values()[1]));
}

TEST(Flow, StartsAsTheIdentityWithWeightsOfItsSeed) {
  const Flow flow({.dimension = 2}, {1, 2}), same({.dimension = 2}, {1, 2});
  const auto data = normal({1, 500, 2}, 11).to(nd::kFloat).expand({2, 500, 2});
  const auto latents = flow.to_latent(data).latents;
  EXPECT_LT((latents - data).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(nd::equal(flow.values(), same.values()));
  EXPECT_FALSE(nd::equal(flow.values()[0], flow.values()[1]));
}

// Of the sum of all latents and log-determinants of rows [1, n, p] float32.
Array gradient_by_kernels(const Flow& flow, const Array& data) {
  const FusedFlow<float> fused(make_plan(flow.options()));
  FusedBatch<float> batch(fused);
  const auto latents = nd::empty_like(data), gradient = nd::empty_like(flow.values()),
             log_abs_det = nd::empty({data.size(1)}, data.options());
  const auto* values = flow.values().data_ptr<float>();
  batch.to_latent(values, {.data = data.data_ptr<float>(), .count = data.size(1)},
                  latents.data_ptr<float>(), log_abs_det.data_ptr<float>(),
                  shared_workers());
  batch.gradient(values, nd::ones_like(data).data_ptr<float>(), 1,
                 gradient.data_ptr<float>(), shared_workers());
  return gradient;
}

TEST(Flow, ValuesFarOutsideStayFinite) {
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    auto flow = random_flow({.kind = kind, .dimension = 2}, {1}, nd::kFloat);
    const auto data = nd::tensor({1e6, -1e6, 0.0, 1e6, -1e18, 0.1, 5.0, -5.0})
                          .to(nd::kFloat)
                          .view({1, 4, 2});
    const auto result = flow.to_latent(data);
    EXPECT_TRUE(nd::isfinite(result.latents).all().item<bool>());
    EXPECT_TRUE(nd::isfinite(result.log_abs_det).all().item<bool>());
    EXPECT_TRUE(nd::isfinite(gradient_by_kernels(flow, data)).all().item<bool>());
  }
}

TEST(Flow, ExtremeWeightsGiveFiniteSplines) {
  auto flow = random_flow({.dimension = 2, .hidden = {16}}, {1}, nd::kFloat, 100);
  const auto data = normal({1, 1000, 2}, 12, 2).to(nd::kFloat);
  const auto result = flow.to_latent(data);
  EXPECT_TRUE(nd::isfinite(result.latents).all().item<bool>());
  EXPECT_TRUE(nd::isfinite(result.log_abs_det).all().item<bool>());
  EXPECT_TRUE(nd::isfinite(gradient_by_kernels(flow, data)).all().item<bool>());
}

TEST(Flow, AffineStartsAsTheIdentity) {
  const Flow flow({.kind = FlowKind::affine, .dimension = 3, .layers = 2}, {1, 2},
                  nd::kDouble);
  const auto data = normal({2, 40, 3}, 13, 4);
  EXPECT_TRUE(nd::allclose(flow.to_latent(data).latents, data, 0, 1e-12));
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
  const auto flow = random_flow(options, {1}, nd::kDouble);
  const auto data = normal({1, 50, 7}, 14);
  const auto moved = (flow.to_latent(data).latents - data).abs().amax(1);
  EXPECT_GT(moved.min().item<double>(), 1e-6);
}

}  // namespace
}  // namespace kinflow
