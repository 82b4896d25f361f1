// Standard errors against the dense oracle; coverage of intervals and size of the test
// of independence in simulations.
#include "kinflow/dependence/inference.h"

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/statistics/p_value.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::Problem;

DependenceInference infer_from_default(const Dependence& law, const Array& latents) {
  return infer(law, latents, law.default_parameters());
}

double number(const Array& array) { return array.item<double>(); }

/// Second derivatives of the dense objective in the parameters, [k, k].
Array dense_information(const Problem& problem, const Array& parameters,
                        const Array& latents) {
  const std::int64_t k = parameters.size(0);
  Array result = nd::empty({k, k}, nd::kDouble);
  const Array steps = nd::diag(2e-4 * parameters * (1 - parameters).abs());
  const auto value = [&](const Array& shift) {
    return number(oracle::objective(problem.covariance(parameters + shift), latents));
  };
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < k; ++j) {
      const Array a = steps[i], b = steps[j];
      result[i][j] = (value(a + b) - value(a - b) - value(b - a) + value(-a - b)) /
                     (4 * number(a[i]) * number(b[j]));
    }
  }
  return result;
}

TEST(Inference, StandardErrorsMatchTheDenseSecondDerivatives) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const Problem& problem : oracle::problems_of_every_structure(
             {20, 1, 1, 7, 2, 9}, 1, /*columns=*/20, seed)) {
      if (problem.parameter_count == 0 || problem.name == "unstructured") continue;
      if (problem.is_per_latent()) continue;
      const Dependence& law = *problem.dependence;
      Random random(seed, 5);
      const Array latents = law.sample(problem.parameters[0], 20, random);
      const DependenceInference result = infer(law, latents, problem.parameters[0]);
      const bool is_inside = result.estimate.min().item<double>() > 0.02 &&
                             result.estimate.max().item<double>() < 0.98;
      if (!is_inside) continue;
      Array basis = nd::eye(problem.parameter_count, nd::kDouble);
      if (problem.is_simplex) {
        // Directions in which the sum of the weights stays.
        basis = basis.narrow(1, 1, problem.parameter_count - 1).clone();
        basis[0].fill_(-1);
      }
      const Array information = dense_information(problem, result.estimate, latents);
      const Array covariance = nd::mm(
          basis, nd::mm(nd::linalg_inv(nd::mm(basis.t(), nd::mm(information, basis))),
                        basis.t()));
      expect_near(result.standard_error, covariance.diagonal().sqrt(), 1e-4,
                  problem.text());
      EXPECT_TRUE((result.low < result.estimate).all().item<bool>());
      EXPECT_TRUE((result.high > result.estimate).all().item<bool>());
      EXPECT_EQ(result.why_no_errors, "") << problem.text();
      EXPECT_NEAR(
          result.log_likelihood,
          number(law.log_density(result.estimate.unsqueeze(0), latents.unsqueeze(0))),
          1e-9);
      ++compared;
    }
  }
  EXPECT_GE(compared, 25);
}

TEST(Inference, OfEachLatentIsThatOfItsColumnAlone) {
  Random random(209);
  const Array labels = nd::arange(120, nd::kLong).floor_divide(4);
  const auto shared = std::make_shared<Blocks>(
      labels, BlocksOptions{.correlation = BlockCorrelation::shared});
  const PerLatent law(shared, 3);
  const Array latents = law.sample(nd::tensor({0.2, 0.5, 0.8}, nd::kDouble), 3, random);
  for (const bool is_known : {true, false}) {
    const InferenceOptions options{.location_and_scale_are_known = is_known};
    const auto actual = infer(law, latents, law.default_parameters(), options);
    EXPECT_EQ(actual.why_no_errors, "");
    for (std::int64_t j = 0; j < 3; ++j) {
      const auto expected = infer(*shared, latents.narrow(1, j, 1),
                                  shared->default_parameters(), options);
      EXPECT_NEAR(number(actual.estimate[j]), number(expected.estimate[0]), 1e-5);
      EXPECT_NEAR(number(actual.standard_error[j]), number(expected.standard_error[0]),
                  1e-4);
      EXPECT_NEAR(number(actual.low[j]), number(expected.low[0]), 1e-4);
      EXPECT_NEAR(number(actual.high[j]), number(expected.high[0]), 1e-4);
    }
  }
}

TEST(Inference, OfASumOfOneMatrixIsThatOfTheRelationship) {
  Random random(211);
  const Array labels = nd::arange(60, nd::kLong).floor_divide(3);
  const Array matrix = oracle::same_label(labels);
  const Relationship one(matrix);
  const RelationshipSum sum({matrix});
  const Array latents = one.sample(nd::tensor({0.4}, nd::kDouble), 5, random);
  const DependenceInference expected = infer_from_default(one, latents);
  const DependenceInference actual = infer_from_default(sum, latents);
  const auto both = [](const Array& a, const Array& b) { return nd::cat({a, b}); };
  expect_near(actual.estimate, both(expected.estimate, 1 - expected.estimate), 1e-6,
              "estimate");
  expect_near(actual.standard_error,
              both(expected.standard_error, expected.standard_error), 1e-5, "error");
  expect_near(actual.low, both(expected.low, 1 - expected.high), 1e-5, "low");
  expect_near(actual.high, both(expected.high, 1 - expected.low), 1e-5, "high");
  EXPECT_NEAR(actual.test->statistic, expected.test->statistic, 1e-6);
  EXPECT_NEAR(actual.test->log10_p, expected.test->log10_p, 1e-8);
}

TEST(Inference, ProfileEndsWhereTheLikelihoodHasComeDown) {
  Random random(212);
  const Array times = oracle::uniform({200}, 0, 1, random).cumsum(0);
  const MarkovTime given(times, {.decay_rate = 0.3}), learned(times);
  const Array latents = given.sample(nd::tensor({0.4}, nd::kDouble), 3, random);
  const Array all = latents.unsqueeze(0);
  const DependenceInference one = infer_from_default(given, latents);
  ASSERT_TRUE(one.profile.has_value());
  for (const double end : {one.profile->low, one.profile->high}) {
    const Array lambda = nd::full({1, 1}, end, nd::kDouble);
    EXPECT_NEAR(2 * (one.log_likelihood - number(given.log_density(lambda, all))),
                3.841459, 1e-4);
  }
  // With gamma at its most likely value for each lambda, found on a fine grid.
  const DependenceInference two = infer_from_default(learned, latents);
  ASSERT_TRUE(two.profile.has_value());
  const Array rates = (std::log(10) * nd::linspace(-3, 2, 20001, nd::kDouble)).exp();
  for (const double end : {two.profile->low, two.profile->high}) {
    const Array grid = nd::stack({nd::full_like(rates, end), rates}, 1);
    double highest = -1e300;
    for (const Array& part : grid.split(2000)) {
      highest = std::max(
          highest,
          number(learned.log_density(part, all.expand({part.size(0), 200, 3})).max()));
    }
    EXPECT_NEAR(2 * (two.log_likelihood - highest), 3.841459, 1e-3);
  }
  EXPECT_FALSE(two.test.has_value());
  EXPECT_NE(two.why_no_test, "");
}

TEST(Inference, AtAnEndOfTheRangeHasNoStandardErrorAndAnOpenProfile) {
  // Rows of a block that lie apart more than by chance: the most likely rho is 0.
  const Blocks law(oracle::whole_numbers({0, 0, 1, 1, 2, 2}),
                   {.correlation = BlockCorrelation::shared});
  const Array latents = nd::tensor({1.0, -1.0, 0.5, -0.7, -1.2, 0.9}, nd::kDouble);
  const DependenceInference result = infer_from_default(law, latents.unsqueeze(1));
  EXPECT_LT(number(result.estimate), 1e-6);
  EXPECT_TRUE(std::isnan(number(result.standard_error)));
  EXPECT_TRUE(std::isnan(number(result.low)));
  ASSERT_TRUE(result.profile.has_value());
  EXPECT_EQ(result.profile->low, 0);
  EXPECT_GT(result.profile->high, 0.01);
  EXPECT_LT(result.profile->high, 0.99);
  EXPECT_EQ(result.test->statistic, 0);
  EXPECT_EQ(result.test->log10_p, 0);
}

TEST(Inference, AProfileThatFailsLeavesTheErrorsAndTheTest) {
  // Conjugate gradients have enough iterations at the estimate, but not on the way
  // towards lambda = 0.
  Random random(214);
  const Array factor = oracle::normal({300, 400}, random);
  const Array matrix = nd::mm(factor, factor.t()) / 400;
  const Array latents =
      Relationship(matrix).sample(nd::tensor({0.15}, nd::kDouble), 1, random);
  const auto inference = [&](std::int64_t max_iterations) {
    return infer_from_default(
        IterativeRelationship(std::make_shared<DenseRelationshipOperator>(matrix),
                              {.basis = 80, .max_iterations = max_iterations}),
        latents);
  };
  const DependenceInference few = inference(56), many = inference(1000);
  EXPECT_FALSE(few.profile.has_value());
  ASSERT_TRUE(many.profile.has_value());
  EXPECT_EQ(few.why_no_errors, "");
  expect_near(few.standard_error, many.standard_error, 1e-4, "standard error");
  EXPECT_EQ(few.why_no_test, "");
  ASSERT_TRUE(few.test.has_value());
  EXPECT_NEAR(few.test->log10_p, many.test->log10_p, 1e-6);
}

TEST(Inference, SaysWhyThereIsNone) {
  Random random(213);
  const Array latents = oracle::normal({30, 2}, random);
  const DependenceInference many = infer_from_default(Unstructured(30), latents);
  EXPECT_NE(many.why_no_errors.find("465 parameters"), std::string::npos);
  const DependenceInference singular =
      infer_from_default(Unstructured(4), latents.narrow(0, 0, 4));
  EXPECT_NE(singular.why_no_errors.find("did not converge"), std::string::npos);
  const DependenceInference none = infer_from_default(Independent(30), latents);
  EXPECT_EQ(none.estimate.numel(), 0);
  EXPECT_EQ(none.why_no_test, "there are no parameters");
  const DependenceInference single =
      infer_from_default(Blocks(nd::arange(30, nd::kLong)), latents);
  EXPECT_NEAR(single.log_likelihood, none.log_likelihood, 1e-10);
  EXPECT_FALSE(single.test.has_value());
}

TEST(Inference, TheProbabilityOfATestAtAnEdgeIsAMeanOfTails) {
  const auto p = [](double x, std::int64_t edges) {
    return p_of_log10(independence_log10_p(x, edges));
  };
  EXPECT_NEAR(p(2.705543454095404, 1), 0.05, 1e-13);
  EXPECT_NEAR(p(3, 2), 0.5 * (std::erfc(std::sqrt(1.5)) + std::exp(-1.5)), 1e-14);
  EXPECT_EQ(p(0, 1), 1);
  // Too small for a number; from mpmath.
  EXPECT_NEAR(independence_log10_p(46000, 1) / 9991.50356206548322, 1, 1e-12);
  EXPECT_NEAR(independence_log10_p(46000, 2) / 9989.0725011600365, 1, 1e-12);
  EXPECT_THROW(independence_log10_p(1, 0), InputError);
}

/// Families of four siblings.
CompressedRows sibling_rows(std::int64_t families) {
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t i = 0; i < 4 * families; ++i) {
    for (std::int64_t j = i - i % 4; j < i - i % 4 + 4; ++j) {
      result.columns.push_back(j);
      result.values.push_back(i == j ? 1 : 0.5);
    }
    result.row_starts.push_back(4 * (i + 1));
  }
  return result;
}

/// Blocks of 2, 3, 4 and 5 rows in turn.
Blocks small_blocks(std::int64_t blocks, BlockCorrelation correlation) {
  std::vector<std::int64_t> labels;
  for (std::int64_t b = 0; b < blocks; ++b) {
    labels.insert(labels.end(), static_cast<std::size_t>(2 + b % 4), b);
  }
  return Blocks(oracle::whole_numbers(labels), {.correlation = correlation});
}

/// A relationship matrix of low rank, from principal components.
Relationship low_rank_law(std::int64_t rows, std::int64_t rank, Random& random) {
  return Relationship(decompose_factor(
      principal_component_factor(oracle::normal({rows, rank}, random))));
}

/// Shares of simulations in which the intervals of the first parameter cover the truth.
struct Coverage {
  double wald = 0;
  double profile = 0;
};

Coverage coverage(const Dependence& law, double truth, std::int64_t columns,
                  std::uint64_t seed) {
  // The share of 1,200 has a standard error of 0.6%.
  constexpr int kSimulations = 1200;
  Random random(seed);
  Coverage result;
  for (int i = 0; i < kSimulations; ++i) {
    const Array latents = law.sample(nd::tensor({truth}, nd::kDouble), columns, random);
    const DependenceInference found = infer_from_default(law, latents);
    result.wald += number(found.low) <= truth && truth <= number(found.high);
    result.profile += found.profile->low <= truth && truth <= found.profile->high;
  }
  return {result.wald / kSimulations, result.profile / kSimulations};
}

void expect_near_95_percent(const Coverage& coverage) {
  for (const double share : {coverage.wald, coverage.profile}) {
    EXPECT_GE(share, 0.92);
    EXPECT_LE(share, 0.98);
  }
}

TEST(Simulation, IntervalsOfLambdaCoverIt) {
  expect_near_95_percent(coverage(Families(sibling_rows(250)), 0.5, 2, 221));
  Random random(222);
  expect_near_95_percent(coverage(low_rank_law(400, 20, random), 0.4, 10, 223));
}

TEST(Simulation, IntervalsOfASharedCorrelationCoverIt) {
  expect_near_95_percent(
      coverage(small_blocks(200, BlockCorrelation::shared), 0.4, 2, 224));
}

/// The share of simulations in which independence is rejected at 5%.
double rejections(const Dependence& law, const Dependence& truth,
                  const Array& parameters, int simulations, std::uint64_t seed) {
  Random random(seed);
  double result = 0;
  for (int i = 0; i < simulations; ++i) {
    const Array latents = truth.sample(parameters, 2, random);
    result += infer_from_default(law, latents).test->log10_p > log10_p_of(0.05);
  }
  return result / simulations;
}

TEST(Simulation, IndependentRowsAreRejectedAsOftenAsTheTestSays) {
  Random random(225);
  const Families families(sibling_rows(250));
  const Relationship factors = low_rank_law(400, 100, random);
  const Blocks shared = small_blocks(200, BlockCorrelation::shared);
  const Blocks per_size = small_blocks(200, BlockCorrelation::per_size);
  for (const Dependence* law : std::initializer_list<const Dependence*>{
           &families, &factors, &shared, &per_size}) {
    const Independent truth(law->rows());
    EXPECT_NEAR(rejections(*law, truth, nd::empty({0}, nd::kDouble), 1000, 226), 0.05,
                0.02)
        << law->kind();
  }
}

TEST(Simulation, TheTestOfASumRejectsIndependenceNoMoreThanItSays) {
  Random random(227);
  const Array labels = nd::arange(60, nd::kLong);
  const RelationshipSum law({oracle::same_label(labels.floor_divide(3)),
                             oracle::same_label(labels.remainder(10))});
  EXPECT_LE(rejections(law, Independent(60), nd::empty({0}, nd::kDouble), 1000, 228),
            0.07);
}

TEST(Simulation, ClearDependenceIsFound) {
  const Families families(sibling_rows(250));
  EXPECT_GE(rejections(families, families, nd::tensor({0.5}, nd::kDouble), 100, 229),
            0.99);
  const Blocks blocks = small_blocks(200, BlockCorrelation::per_block);
  const Array correlations = nd::full({200}, 0.3, nd::kDouble);
  EXPECT_GE(rejections(blocks, blocks, correlations, 100, 230), 0.99);
}

}  // namespace
}  // namespace kinflow
