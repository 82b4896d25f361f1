// Maximum likelihood of one parameter: optima of known curves, and recovery of the
// parameters that latents were drawn with.
#include "kinflow/dependence/likelihood_curve.h"

#include <cmath>

#include "oracle.h"

namespace kinflow {
namespace {

/// The slope of the objective, and its value against both neighbours, show an optimum.
void expect_optimum(const Dependence& law, const at::Tensor& parameters,
                    const at::Tensor& latents) {
  const at::Tensor slope = law.unconstrained_gradient(
      parameters, law.parameter_gradient(parameters, latents));
  EXPECT_LE(slope.abs().max().item<double>(), 1e-6 * latents.numel());
  const at::Tensor best = law.objective(parameters, latents);
  for (const double step : {-0.05, 0.05}) {
    const at::Tensor moved =
        law.from_unconstrained(law.to_unconstrained(parameters) + step);
    EXPECT_TRUE((law.objective(moved, latents) >= best - 1e-9).all().item<bool>());
  }
}

TEST(LikelihoodCurve, FindsTheLowerOfTwoValleys) {
  const auto valleys = [](double x) {
    const double a = x - 0.2, b = x - 0.7;
    return CurvePoint{a * a * b * b + 0.001 * x, 2 * a * b * b + 2 * a * a * b + 0.001};
  };
  const double x = minimize_on_unit_interval(valleys);
  EXPECT_NEAR(x, 0.2, 0.01);
  EXPECT_NEAR(valleys(x).slope, 0, 1e-10);
}

TEST(LikelihoodCurve, StaysInsideTheIntervalWhereTheCurveIsMonotone) {
  const double low = minimize_on_unit_interval([](double x) {
    return CurvePoint{x, 1};
  });
  const double high = minimize_on_unit_interval([](double x) {
    return CurvePoint{-x, -1};
  });
  EXPECT_NEAR(low, 1e-9, 1e-20);
  EXPECT_NEAR(high, 1 - 1e-9, 1e-15);
}

TEST(LikelihoodCurve, SpectralObjectiveIsThatOfTheRelationship) {
  Random random(111);
  const at::Tensor factor = oracle::normal({6, 2}, random);
  const Relationship law(decompose_factor(factor));
  const at::Tensor latents = oracle::normal({1, 6, 3}, random);
  const at::Tensor rotated = at::mm(law.eigenvectors().t(), latents[0]);
  const at::Tensor along = rotated.square().sum(1);
  std::vector<SpectralTerm> terms;
  for (std::int64_t k = 0; k < 2; ++k) {
    terms.push_back({law.eigenvalues()[k].item<double>(), 1, along[k].item<double>()});
  }
  terms.push_back({0, 4, (latents.square().sum() - along.sum()).item<double>()});
  const CurvePoint point = spectral_objective(terms, 3, 0.3);
  const at::Tensor lambda = at::full({1, 1}, 0.3, at::kDouble);
  EXPECT_NEAR(point.value, law.objective(lambda, latents).item<double>(), 1e-12);
  EXPECT_NEAR(point.slope, law.parameter_gradient(lambda, latents).item<double>(),
              1e-11);
}

/// Latents of all replicas, each drawn with its own parameters.
at::Tensor draw(const Dependence& law, const at::Tensor& parameters,
                std::int64_t columns, Random& random) {
  std::vector<at::Tensor> draws;
  for (std::int64_t r = 0; r < parameters.size(0); ++r) {
    draws.push_back(law.sample(parameters[r], columns, random));
  }
  return at::stack(draws);
}

double mean_absolute_error(const at::Tensor& estimates, const at::Tensor& truth) {
  return (estimates - truth).abs().mean().item<double>();
}

TEST(MaximumLikelihood, RecoversLambdaOfFamilies) {
  Random random(112);
  // 1,250 families of four siblings.
  CompressedRows siblings;
  siblings.row_starts.push_back(0);
  for (std::int64_t i = 0; i < 5000; ++i) {
    for (std::int64_t j = i - i % 4; j < i - i % 4 + 4; ++j) {
      siblings.columns.push_back(j);
      siblings.values.push_back(i == j ? 1 : 0.5);
    }
    siblings.row_starts.push_back(4 * (i + 1));
  }
  const Families law(siblings);
  const at::Tensor truth = oracle::uniform({12, 1}, 0.05, 0.95, random);
  const at::Tensor latents = draw(law, truth, 2, random);
  const at::Tensor estimates = law.maximum_likelihood_lambda(latents);
  EXPECT_LE(mean_absolute_error(estimates, truth), 0.03);
  expect_optimum(law, estimates, latents);
}

TEST(MaximumLikelihood, RecoversLambdaOfLowRank) {
  Random random(113);
  const at::Tensor components = oracle::normal({5000, 20}, random);
  const Relationship law(decompose_factor(principal_component_factor(components)));
  const at::Tensor truth = oracle::uniform({12, 1}, 0.05, 0.95, random);
  const at::Tensor latents = draw(law, truth, 10, random);
  const at::Tensor estimates = law.maximum_likelihood_lambda(latents);
  EXPECT_LE(mean_absolute_error(estimates, truth), 0.03);
  expect_optimum(law, estimates, latents);
}

TEST(MaximumLikelihood, RecoversLambdaOfADenseRelationship) {
  Random random(114);
  const std::int64_t n = 400;
  const at::Tensor labels = at::arange(n, at::kLong).floor_divide(4);
  const Relationship law(0.5 * oracle::same_label(labels) +
                         0.5 * at::eye(n, at::kDouble));
  const at::Tensor truth = at::tensor({0.2, 0.6}, at::kDouble).view({2, 1});
  const at::Tensor latents = draw(law, truth, 200, random);
  const at::Tensor estimates = law.maximum_likelihood_lambda(latents);
  EXPECT_LE(mean_absolute_error(estimates, truth), 0.03);
  expect_optimum(law, estimates, latents);
}

TEST(MaximumLikelihood, RecoversTheCorrelationsOfBlocks) {
  Random random(115);
  for (const auto correlation : {BlockCorrelation::shared, BlockCorrelation::per_block,
                                 BlockCorrelation::per_size}) {
    // 5,000 rows: 50 blocks of 40 and 50 of 60.
    std::vector<std::int64_t> labels;
    for (std::int64_t b = 0; b < 100; ++b) {
      labels.insert(labels.end(), b < 50 ? 40 : 60, b);
    }
    const Blocks law(oracle::whole_numbers(labels), {.correlation = correlation});
    const at::Tensor truth =
        oracle::uniform({3, law.parameter_count()}, 0.3, 0.95, random);
    const at::Tensor latents = draw(law, truth, 10, random);
    const at::Tensor estimates = law.maximum_likelihood(latents);
    EXPECT_LE(mean_absolute_error(estimates, truth), 0.05);
    expect_optimum(law, estimates, latents);
  }
}

TEST(MaximumLikelihood, OfBlocksWithoutRepeatsHasNoParameters) {
  const Blocks law(at::arange(4, at::kLong));
  EXPECT_EQ(law.maximum_likelihood(at::zeros({1, 4, 2}, at::kDouble)).numel(), 0);
}

}  // namespace
}  // namespace kinflow
