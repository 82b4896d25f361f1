// The most likely parameters given latents: they are minima in every structure, the
// lowest where there are several, and recover what latents were drawn with.
#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/dependence/minimize.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::Problem;

Array penalised(const Dependence& law, const Array& parameters, const Array& latents,
                double prior) {
  return law.objective(parameters, latents) + prior * law.prior_objective(parameters);
}

/// The slope of the function, and its value against neighbours, show a minimum.
void expect_optimum(const Dependence& law, const Array& parameters,
                    const Array& latents, double prior) {
  const Array slope = law.unconstrained_gradient(
                          parameters, law.parameter_gradient(parameters, latents)) +
                      prior * law.unconstrained_prior_gradient(parameters);
  EXPECT_LE(slope.abs().max().item<double>(), 1e-4 + 1e-6 * latents.numel())
      << law.kind();
  const Array best = penalised(law, parameters, latents, prior);
  const Array place = law.to_unconstrained(parameters);
  for (std::int64_t k = 0; k < std::min<std::int64_t>(place.size(1), 5); ++k) {
    for (const double step : {-0.05, 0.05}) {
      Array moved = place.clone();
      moved.select(1, k) += step;
      const Array value = penalised(law, law.from_unconstrained(moved), latents, prior);
      EXPECT_TRUE((value >= best - 1e-6).all().item<bool>()) << law.kind();
    }
  }
}

/// From the parameters that a structure starts with, without a prior.
Array most_likely(const Dependence& law, const Array& latents) {
  const Array start = law.default_parameters();
  return law.most_likely(latents, start.expand({latents.size(0), start.size(0)}), 0);
}

TEST(Minimize, FindsTheEndOfACurvedValley) {
  // Rosenbrock's function in 6 variables.
  const auto valley = [](const std::vector<double>& x, std::vector<double>& slope) {
    double value = 0;
    std::fill(slope.begin(), slope.end(), 0);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
      value += 100 * a * a + b * b;
      slope[i] -= 400 * a * x[i] + 2 * b;
      slope[i + 1] += 200 * a;
    }
    return value;
  };
  const Minimum minimum = minimize(valley, {-1.2, 1, -0.5, 0.8, 0.3, 1.4});
  EXPECT_TRUE(minimum.has_converged);
  for (const double x : minimum.place) EXPECT_NEAR(x, 1, 1e-5);
}

TEST(Minimize, KeepsAwayFromWhereTheFunctionIsNotDefined) {
  // x - log x for x > 0, shifted far up, so that values near the minimum agree to the
  // last digits.
  const auto barrier = [](const std::vector<double>& x, std::vector<double>& slope) {
    if (x[0] <= 0) return std::nan("");
    slope[0] = 1 - 1 / x[0];
    return 1e7 + x[0] - std::log(x[0]);
  };
  const Minimum minimum = minimize(barrier, {9});
  EXPECT_TRUE(minimum.has_converged);
  EXPECT_NEAR(minimum.place[0], 1, 1e-4);
}

TEST(Minimize, SaysWhereThereIsNoMinimum) {
  const auto line = [](const std::vector<double>& x, std::vector<double>& slope) {
    slope[0] = -1;
    return -x[0];
  };
  EXPECT_FALSE(minimize(line, {0}).has_converged);
  const auto nowhere = [](const std::vector<double>&, std::vector<double>&) {
    return std::nan("");
  };
  EXPECT_FALSE(minimize(nowhere, {0}).has_converged);
}

TEST(MostLikely, HasNoSlopeLeftInAnyStructure) {
  for (const Problem& problem : oracle::random_problems()) {
    // Their law moves with them; pooled_test.cpp has this claim.
    if (problem.name == "blocks, pooled") continue;
    const Dependence& law = *problem.dependence;
    for (const double prior : {0.0, 0.3, 1.0}) {
      // Without a prior one table determines no unstructured C.
      if (prior == 0 && law.kind() == "unstructured") continue;
      const Array found = law.most_likely(problem.latents, problem.parameters, prior);
      ASSERT_EQ(found.sizes(), problem.parameters.sizes()) << problem.text();
      if (found.numel() == 0) continue;
      expect_optimum(law, found, problem.latents, prior);
      const Array gain = penalised(law, problem.parameters, problem.latents, prior) -
                         penalised(law, found, problem.latents, prior);
      EXPECT_GE(gain.min().item<double>(), -1e-9) << problem.text();
    }
  }
}

TEST(MostLikely, OfUnstructuredRowsHasTheCovarianceOfTheLatents) {
  Random random(116);
  const Unstructured law(4);
  const Array latents = oracle::normal({1, 4, 12}, random);
  const Array found = most_likely(law, latents);
  oracle::expect_near(law.covariance(found[0])[0],
                      nd::mm(latents[0], latents[0].t()) / 12, 1e-5, "C");
}

TEST(MostLikely, IsANumericalErrorWhereTheLikelihoodHasNoMaximum) {
  // One column determines no covariance of four rows.
  Random random(117);
  EXPECT_THROW(most_likely(Unstructured(4), oracle::normal({1, 4, 1}, random)),
               NumericalError);
}

TEST(MostLikely, DecayIsTheLowestOfAllValleys) {
  Random random(118);
  const Array logit = 0.5 * nd::arange(-24, 24, nd::kDouble);
  const Array log_rate = 0.25 * nd::arange(-32, 24, nd::kDouble);
  const Array grid = nd::stack(
      {logit.repeat_interleave(log_rate.size(0)), log_rate.repeat({logit.size(0)})}, 1);
  int misled = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    // A slow and a fast process together make two valleys.
    const Array times = oracle::uniform({40}, 0, 40, random);
    const MarkovTime slow(times, {.decay_rate = 0.03}), fast(times, {.decay_rate = 3});
    const Array share = nd::tensor({0.05}, nd::kDouble);
    const Array latents =
        ((slow.sample(share, 1, random) + fast.sample(share, 1, random)) / std::sqrt(2))
            .unsqueeze(0);
    const MarkovTime law(times);
    const double lowest = law.objective(law.from_unconstrained(grid),
                                        latents.expand({grid.size(0), 40, 1}))
                              .min()
                              .item<double>();
    const Array found = most_likely(law, latents);
    EXPECT_LE(law.objective(found, latents).item<double>(), lowest + 1e-6);
    // The valley next to the start is not always the lowest.
    const Array nearest =
        law.Dependence::most_likely(latents, law.default_parameters().unsqueeze(0), 0);
    misled += law.objective(nearest, latents).item<double>() > lowest + 1e-6;
  }
  EXPECT_GT(misled, 0);
}

TEST(MostLikely, RecoversLambdaAndDecayOfMarkovTime) {
  Random random(119);
  const Array times = oracle::uniform({5000}, 0, 2, random).cumsum(0);
  const MarkovTime given(times, {.decay_rate = 0.3}), learned(times);
  double error = 0, relative_error = 0;
  for (const double lambda : {0.2, 0.5, 0.8}) {
    const Array truth = nd::tensor({lambda}, nd::kDouble);
    const Array latents = given.sample(truth, 4, random).unsqueeze(0);
    const Array one = most_likely(given, latents);
    EXPECT_NEAR(one.item<double>(), lambda, 0.06);
    expect_optimum(given, one, latents, /*prior=*/0);
    const Array both = most_likely(learned, latents);
    expect_optimum(learned, both, latents, /*prior=*/0);
    error += std::abs(both[0][0].item<double>() - lambda) / 3;
    relative_error += std::abs(both[0][1].item<double>() / 0.3 - 1) / 3;
  }
  EXPECT_LE(error, 0.03);
  EXPECT_LE(relative_error, 0.15);
}

/// Latents of all replicas, each drawn with its own parameters.
Array draw(const Dependence& law, const Array& parameters, std::int64_t columns,
           Random& random) {
  std::vector<Array> draws;
  for (std::int64_t r = 0; r < parameters.size(0); ++r) {
    draws.push_back(law.sample(parameters[r], columns, random));
  }
  return nd::stack(draws);
}

double mean_absolute_error(const Array& estimates, const Array& truth) {
  return (estimates - truth).abs().mean().item<double>();
}

TEST(MostLikely, RecoversLambdaOfFamilies) {
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
  const Array truth = oracle::uniform({12, 1}, 0.05, 0.95, random);
  const Array latents = draw(law, truth, 2, random);
  const Array estimates = most_likely(law, latents);
  EXPECT_LE(mean_absolute_error(estimates, truth), 0.03);
  expect_optimum(law, estimates, latents, /*prior=*/0);
}

TEST(MostLikely, RecoversLambdaOfLowRank) {
  Random random(113);
  const Array components = oracle::normal({5000, 20}, random);
  const Relationship law(decompose_factor(principal_component_factor(components)));
  const Array truth = oracle::uniform({12, 1}, 0.05, 0.95, random);
  const Array latents = draw(law, truth, 10, random);
  const Array estimates = most_likely(law, latents);
  EXPECT_LE(mean_absolute_error(estimates, truth), 0.03);
  expect_optimum(law, estimates, latents, /*prior=*/0);
}

TEST(MostLikely, RecoversLambdaOfADenseRelationship) {
  Random random(114);
  const std::int64_t n = 400;
  const Array labels = nd::arange(n, nd::kLong).floor_divide(4);
  const Relationship law(0.5 * oracle::same_label(labels) +
                         0.5 * nd::eye(n, nd::kDouble));
  const Array truth = nd::tensor({0.2, 0.6}, nd::kDouble).view({2, 1});
  const Array latents = draw(law, truth, 200, random);
  const Array estimates = most_likely(law, latents);
  EXPECT_LE(mean_absolute_error(estimates, truth), 0.03);
  expect_optimum(law, estimates, latents, /*prior=*/0);
}

TEST(MostLikely, RecoversTheCorrelationsOfBlocks) {
  Random random(115);
  for (const auto correlation : {BlockCorrelation::shared, BlockCorrelation::per_block,
                                 BlockCorrelation::per_size}) {
    // 5,000 rows: 50 blocks of 40 and 50 of 60.
    std::vector<std::int64_t> labels;
    for (std::int64_t b = 0; b < 100; ++b) {
      labels.insert(labels.end(), b < 50 ? 40 : 60, b);
    }
    const Blocks law(oracle::whole_numbers(labels), {.correlation = correlation});
    const Array truth = oracle::uniform({3, law.parameter_count()}, 0.3, 0.95, random);
    const Array latents = draw(law, truth, 10, random);
    const Array estimates = most_likely(law, latents);
    EXPECT_LE(mean_absolute_error(estimates, truth), 0.05);
    expect_optimum(law, estimates, latents, /*prior=*/0);
  }
}

TEST(MostLikely, OfBlocksWithoutRepeatsHasNoParameters) {
  const Blocks law(nd::arange(4, nd::kLong));
  EXPECT_EQ(most_likely(law, nd::zeros({1, 4, 2}, nd::kDouble)).numel(), 0);
}

}  // namespace
}  // namespace kinflow
