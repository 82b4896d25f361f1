// The null model against dense algebra, and what it refuses.
#include "kinflow/genetics/mixed_model.h"

#include <gtest/gtest.h>

#include "kinflow/core/error.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/genetics/univariate_model.h"
#include "tests/data/helpers.h"
#include "tests/genetics/mixed_model_problem.h"

namespace kinflow {
namespace {

constexpr LikelihoodKind kKinds[] = {LikelihoodKind::restricted, LikelihoodKind::full};

TraitVariances some_variances(std::int64_t traits, std::uint64_t seed) {
  Random random(seed);
  const auto d = static_cast<std::size_t>(traits);
  const auto make = [&] {
    std::vector<double> root(d * d), result(d * d, 0);
    for (auto& value : root) value = random.normal();
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        for (std::size_t k = 0; k < d; ++k) {
          result[j * d + i] += root[k * d + i] * root[k * d + j];
        }
        if (i == j) result[j * d + i] += 0.5;
      }
    }
    return result;
  };
  auto genetic = make();
  return {std::move(genetic), make()};
}

TEST(VarianceLikelihood, IsThatOfTheDenseModel) {
  for (const std::int64_t traits : {1, 2, 4}) {
    const auto problem = simulate_mixed_model(45, traits, 3, 1, 0.5, 7);
    const auto variances = some_variances(traits, 3);
    for (const auto kind : kKinds) {
      VarianceLikelihood likelihood(problem.data, kind);
      const DenseMixedModel dense(problem, variances);
      EXPECT_NEAR(likelihood.go_to(variances), dense.log_likelihood(kind), 1e-8);
      likelihood.set_snp(problem.rotated_snps.data());
      const DenseMixedModel with_snp(problem, variances, problem.genotypes.data());
      EXPECT_NEAR(likelihood.go_to(variances), with_snp.log_likelihood(kind), 1e-8);
      likelihood.set_snp(nullptr);
      EXPECT_NEAR(likelihood.go_to(variances), dense.log_likelihood(kind), 1e-8);
    }
  }
}

TEST(VarianceLikelihood, HasTheGradientOfFiniteDifferences) {
  constexpr std::int64_t kTraits = 3;
  const auto problem = simulate_mixed_model(40, kTraits, 2, 0, 0.5, 8);
  const auto variances = some_variances(kTraits, 4);
  for (const auto kind : kKinds) {
    VarianceLikelihood likelihood(problem.data, kind);
    likelihood.go_to(variances);
    const auto gradient = likelihood.gradient();
    const auto to = likelihood.canonical().to;
    for (const bool is_genetic : {true, false}) {
      for (std::size_t a = 0; a < kTraits; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
          // tr(G T E T') for the change E of the elements (a, b) and (b, a).
          double expected = 0;
          const auto& of = is_genetic ? gradient.genetic : gradient.residual;
          for (std::size_t i = 0; i < kTraits; ++i) {
            for (std::size_t j = 0; j < kTraits; ++j) {
              expected += of[j * kTraits + i] * to[a * kTraits + i] *
                          to[b * kTraits + j] * (a == b ? 1 : 2);
            }
          }
          const auto value_at = [&](double change) {
            auto moved = variances;
            auto& matrix = is_genetic ? moved.genetic : moved.residual;
            matrix[a * kTraits + b] += change;
            if (a != b) matrix[b * kTraits + a] += change;
            return DenseMixedModel(problem, moved).log_likelihood(kind);
          };
          constexpr double kStep = 1e-4;
          EXPECT_NEAR((value_at(kStep) - value_at(-kStep)) / (2 * kStep), expected,
                      1e-5);
        }
      }
    }
  }
}

TEST(MixedModel, IsHigherThanAllNeighbours) {
  for (const std::int64_t traits : {1, 3}) {
    const auto problem = simulate_mixed_model(200, traits, 2, 0, 0.4, 9);
    for (const auto kind : kKinds) {
      const auto fit = fit_mixed_model(problem.data, kind);
      EXPECT_TRUE(fit.has_converged);
      EXPECT_LT(fit.gradient_norm, 1e-4);
      EXPECT_EQ(fit.ratios_at_bound, 0);
      const double dense = DenseMixedModel(problem, fit.variances).log_likelihood(kind);
      EXPECT_NEAR(fit.log_likelihood, dense, 1e-7);
      const auto d = static_cast<std::size_t>(traits);
      for (std::size_t a = 0; a < d; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
          for (const double change : {-0.01, 0.01}) {
            for (const bool is_genetic : {true, false}) {
              auto moved = fit.variances;
              auto& matrix = is_genetic ? moved.genetic : moved.residual;
              matrix[a * d + b] += change;
              if (a != b) matrix[b * d + a] += change;
              EXPECT_LT(DenseMixedModel(problem, moved).log_likelihood(kind), dense);
            }
          }
        }
      }
    }
  }
}

TEST(MixedModel, OfOneTraitIsThatOfSeveral) {
  const auto problem = simulate_mixed_model(120, 1, 2, 0, 0.5, 10);
  for (const auto kind : kKinds) {
    const auto fit = fit_mixed_model(problem.data, kind);
    VarianceLikelihood likelihood(problem.data, kind);
    TraitVariances variances{{0.3}, {2}};
    const auto search = maximize(likelihood, variances, {});
    EXPECT_TRUE(search.has_converged);
    EXPECT_NEAR(search.log_likelihood, fit.log_likelihood, 1e-9);
    EXPECT_NEAR(variances.genetic[0], fit.variances.genetic[0], 1e-4);
    EXPECT_NEAR(variances.residual[0], fit.variances.residual[0], 1e-4);
  }
}

TEST(MixedModel, EndsOnTheBoundaryWhereThereIsNoGeneticVariance) {
  const auto problem = simulate_mixed_model(150, 4, 1, 0, 0.02, 11);
  const auto fit = fit_mixed_model(problem.data, LikelihoodKind::restricted);
  EXPECT_TRUE(fit.has_converged);
  EXPECT_EQ(fit.canonical.ratios.front(), 0);
  // The EM algorithm comes as high only in the limit.
  VarianceLikelihood likelihood(problem.data, LikelihoodKind::restricted);
  TraitVariances variances = some_variances(4, 5);
  double value = likelihood.go_to(variances);
  for (int i = 0; i < 3000; ++i) {
    variances =
        em_step(likelihood.canonical(), likelihood.gradient(), likelihood.rows());
    const double next = likelihood.go_to(variances);
    EXPECT_GE(next, value - 1e-8);
    value = next;
  }
  EXPECT_LE(value, fit.log_likelihood + 1e-8);
  EXPECT_GT(value, fit.log_likelihood - 0.05);
}

TEST(MixedModel, FindsTheSameMaximumFromEverywhere) {
  const auto problem = simulate_mixed_model(200, 5, 2, 0, 0.3, 12);
  const auto fit = fit_mixed_model(problem.data, LikelihoodKind::restricted);
  ASSERT_TRUE(fit.has_converged);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto variances = some_variances(5, 20 + seed);
    VarianceLikelihood likelihood(problem.data, LikelihoodKind::restricted);
    const auto search = maximize(likelihood, variances, {});
    EXPECT_TRUE(search.has_converged);
    EXPECT_NEAR(search.log_likelihood, fit.log_likelihood, 1e-6);
  }
}

TEST(MixedModel, DoesNotDependOnTheScaleOfTraits) {
  const auto problem = simulate_mixed_model(100, 2, 1, 0, 0.5, 13);
  auto scaled = problem.trait_columns;
  for (std::size_t i = 0; i < 100; ++i) scaled.values[i] *= 1e6;
  const auto data =
      make_mixed_model_data(problem.eigen, scaled, problem.covariate_columns);
  const auto fit = fit_mixed_model(problem.data, LikelihoodKind::full);
  const auto of_scaled = fit_mixed_model(data, LikelihoodKind::full);
  EXPECT_TRUE(of_scaled.has_converged);
  EXPECT_NEAR(of_scaled.variances.genetic[0] / fit.variances.genetic[0] / 1e12, 1,
              1e-5);
  EXPECT_NEAR(of_scaled.variances.residual[3] / fit.variances.residual[3], 1, 1e-5);
}

TEST(UnivariateModel, HasNoBestRatioWhereSlopesAreNoNumbers) {
  const std::vector<double> slopes(ratio_grid().size(), std::nan(""));
  const auto nothing = [](double) { return std::nan(""); };
  EXPECT_THROW(best_log_ratio(slopes, nothing, nothing, 0, -1), NumericalError);
}

std::string refusal(const MixedModelProblem& problem, const NamedColumns& traits,
                    const NamedColumns& covariates) {
  try {
    make_mixed_model_data(problem.eigen, traits, covariates);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(MixedModelData, NamesColumnsThatDependOnOthers) {
  const auto problem = simulate_mixed_model(50, 3, 3, 0, 0.5, 14);
  auto traits = problem.trait_columns;
  for (std::size_t i = 0; i < 50; ++i) {
    traits.values[100 + i] = 2 * traits.values[i] - 3;
  }
  auto message = refusal(problem, traits, problem.covariate_columns);
  EXPECT_NE(message.find("trait1"), std::string::npos) << message;
  EXPECT_NE(message.find("trait3"), std::string::npos) << message;
  EXPECT_EQ(message.find("trait2"), std::string::npos) << message;

  auto covariates = problem.covariate_columns;
  for (std::size_t i = 0; i < 50; ++i) {
    covariates.values[100 + i] = 1 + 5 * covariates.values[50 + i];
  }
  message = refusal(problem, problem.trait_columns, covariates);
  for (const auto* name : {"covariate1", "covariate2"}) {
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }

  traits = problem.trait_columns;
  for (std::size_t i = 0; i < 50; ++i) traits.values[50 + i] = 4;
  message = refusal(problem, traits, problem.covariate_columns);
  EXPECT_NE(message.find("'trait2'"), std::string::npos) << message;
}

TEST(MixedModelData, NamesTheRowOfWhatIsNoNumber) {
  const auto problem = simulate_mixed_model(50, 2, 1, 0, 0.5, 15);
  auto traits = problem.trait_columns;
  traits.values[57] = std::nan("");
  const auto message = refusal(problem, traits, problem.covariate_columns);
  EXPECT_NE(message.find("'trait2', row 8"), std::string::npos) << message;
}

TEST(MixedModelData, RefusesTooFewRowsAndTheIdentity) {
  const auto problem = simulate_mixed_model(50, 1, 1, 0, 0.5, 16);
  std::vector<double> identity(9, 0);
  for (std::size_t i = 0; i < 3; ++i) identity[i * 4] = 1;
  const auto three = eigen_of_relationship(identity, 3);
  const NamedColumns ones{{"one"}, {1, 1, 1}};
  EXPECT_THROW(make_mixed_model_data(three, {{"y"}, {1, 2, 4}}, ones), InputError);
  std::vector<double> more(100, 0);
  for (std::size_t i = 0; i < 10; ++i) more[i * 11] = 1;
  NamedColumns trait{{"y"}, {}}, intercept{{"one"}, std::vector<double>(10, 1)};
  for (int i = 0; i < 10; ++i) trait.values.push_back(i * i);
  EXPECT_THROW(make_mixed_model_data(eigen_of_relationship(more, 10), trait, intercept),
               InputError);
}

double condition_of(const MixedModelData& data) {
  return trait_correlations(data.traits, data.covariates, data.rows).condition;
}

TEST(MixedModelData, KnowsTheConditionOfTraits) {
  const auto problem = simulate_mixed_model(200, 2, 1, 0, 0.5, 17);
  const double condition = condition_of(problem.data);
  EXPECT_GT(condition, 1);
  EXPECT_LT(condition, 10);
  auto close = problem.trait_columns;
  for (std::size_t i = 0; i < 200; ++i) {
    close.values[200 + i] = close.values[i] + 1e-3 * close.values[200 + i];
  }
  const auto data =
      make_mixed_model_data(problem.eigen, close, problem.covariate_columns);
  EXPECT_GT(condition_of(data), 1e5);
  const auto fit = fit_mixed_model(data, LikelihoodKind::full);
  EXPECT_TRUE(fit.has_converged);
}

TEST(Relationship, RefusesWhatIsNotSemidefinite) {
  EXPECT_THROW(eigen_of_relationship({1, 2, 2, 1}, 2), InputError);
}

}  // namespace
}  // namespace kinflow
