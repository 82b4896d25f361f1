// Residuals, normal scores and the checks of traits.
#include "kinflow/genetics/trait_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

constexpr std::int64_t kRows = 50;

NamedColumns random_columns(const std::vector<std::string>& names, std::uint64_t seed) {
  Random random(seed);
  NamedColumns columns{names, {}};
  for (std::size_t i = 0; i < kRows * names.size(); ++i) {
    columns.values.push_back(random.normal());
  }
  return columns;
}

double* column(NamedColumns& columns, std::size_t number) {
  return &columns.values[number * kRows];
}

double product(const double* left, const double* right) {
  double sum = 0;
  for (std::int64_t i = 0; i < kRows; ++i) sum += left[i] * right[i];
  return sum;
}

TEST(Residuals, AreOrthogonalToCovariatesAndDifferByTheirCombination) {
  auto traits = random_columns({"a", "b"}, 1);
  auto covariates = with_intercept(random_columns({"age", "sex"}, 2), kRows);
  ASSERT_EQ(covariates.names, (std::vector<std::string>{"intercept", "age", "sex"}));
  auto left = residuals(traits, covariates, kRows);
  for (std::size_t t = 0; t < 2; ++t) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(product(column(left, t), column(covariates, c)), 0, 1e-12);
    }
    for (std::int64_t i = 0; i < kRows; ++i) {
      column(traits, t)[i] += 3 - 2 * column(covariates, 1)[i];
    }
  }
  const auto again = residuals(traits, covariates, kRows);
  for (std::size_t i = 0; i < left.values.size(); ++i) {
    EXPECT_NEAR(again.values[i], left.values[i], 1e-12);
  }
}

TEST(RankNormalScores, AreBlomsQuantilesInTheOrderOfTheValues) {
  // qnorm((1:5 - 3/8) / (5 + 1/4)) of R
  const NamedColumns columns{{"y"}, {30, -2, 1000, 7, 8}};
  const auto scores = rank_normal_scores(columns, 5).values;
  EXPECT_NEAR(scores[1], -1.1797611176118603, 1e-9);
  EXPECT_NEAR(scores[3], -0.497200570681554, 1e-9);
  EXPECT_NEAR(scores[4], 0, 1e-12);
  EXPECT_NEAR(scores[0], 0.497200570681554, 1e-9);
  EXPECT_NEAR(scores[2], 1.1797611176118603, 1e-9);
}

TEST(RankNormalScores, GiveEqualValuesTheirMeanRank) {
  const NamedColumns columns{{"y"}, {1, 1, 5, 5}};
  const auto scores = rank_normal_scores(columns, 4).values;
  EXPECT_EQ(scores[0], scores[1]);
  EXPECT_EQ(scores[2], scores[3]);
  EXPECT_NEAR(scores[0], -scores[2], 1e-12);
  EXPECT_LT(scores[0], 0);
}

TEST(TraitChecks, NameWhatDependsOnWhat) {
  const auto covariates = with_intercept(random_columns({"age"}, 3), kRows);
  auto traits = random_columns({"hdl", "ldl", "twice"}, 4);
  for (std::int64_t i = 0; i < kRows; ++i) {
    column(traits, 2)[i] = 2 * column(traits, 0)[i] + 5;
  }
  try {
    check_traits_and_covariates(traits, covariates, kRows);
    FAIL();
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'hdl'"), text.npos) << text;
    EXPECT_NE(text.find("'twice'"), text.npos) << text;
    EXPECT_EQ(text.find("'ldl'"), text.npos) << text;
  }
}

TEST(TraitCorrelations, AreThoseOfResiduals) {
  auto traits = random_columns({"a", "b"}, 5);
  const auto covariates = with_intercept(random_columns({"age"}, 6), kRows);
  const auto left = residuals(traits, covariates, kRows).values;
  const double* a = left.data();
  const double* b = left.data() + kRows;
  const double r = product(a, b) / std::sqrt(product(a, a) * product(b, b));
  const auto together = trait_correlations(traits, covariates, kRows);
  EXPECT_NEAR(together.matrix[1], r, 1e-12);
  EXPECT_NEAR(together.condition, (1 + std::abs(r)) / (1 - std::abs(r)), 1e-9);
}

}  // namespace
}  // namespace kinflow
