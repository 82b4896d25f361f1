// Draws, conditional laws, and what each structure accepts and exposes.
#include <cmath>

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::Problem;
using oracle::whole_numbers;

/// Mean and covariance of the columns of many independent columns [n, p].
struct Moments {
  Array mean;        // [n]
  Array covariance;  // [n, n]
};

Moments moments(const Array& draws) {
  const Array mean = draws.mean(1);
  const Array centred = draws - mean.unsqueeze(1);
  return {mean, nd::mm(centred, centred.t()) / static_cast<double>(draws.size(1))};
}

/// Every element within 5 standard errors (and rounding) of the law's.
void expect_moments(const Moments& actual, const Array& mean, const Array& covariance,
                    std::int64_t draws, const std::string& what) {
  const double count = static_cast<double>(draws);
  const Array variance = covariance.diagonal();
  const Array mean_error = (variance / count).sqrt();
  const Array covariance_error =
      ((nd::outer(variance, variance) + covariance.square()) / count).sqrt();
  EXPECT_TRUE(((actual.mean - mean).abs() <= 5 * mean_error + 1e-12).all().item<bool>())
      << what;
  EXPECT_TRUE(((actual.covariance - covariance).abs() <= 5 * covariance_error + 1e-12)
                  .all()
                  .item<bool>())
      << what;
}

TEST(Sample, HasTheMomentsOfTheLaw) {
  const std::int64_t columns = 20000;
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 1, 1, /*seed=*/31)) {
    if (problem.is_per_latent()) continue;
    Random random(32);
    const Array draw =
        problem.dependence->sample(problem.parameters[0], columns, random);
    ASSERT_EQ(draw.sizes(), nd::IntArrayRef({7, columns}));
    expect_moments(moments(draw), nd::zeros({7}, nd::kDouble),
                   problem.covariance(problem.parameters[0]), columns, problem.text());
  }
}

/// Draws of all columns, so many times: for each column the draws side by side,
/// [p, n, draws].
template <typename Draw>
Array many_draws(std::int64_t draws, const Draw& draw) {
  std::vector<Array> all;
  for (std::int64_t i = 0; i < draws; ++i) all.push_back(draw());
  return nd::stack(all, 2).transpose(0, 1).contiguous();
}

TEST(Sample, OfEachLatentHasTheMomentsOfItsOwnLaw) {
  const std::int64_t draws = 2000;
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 1, 3, /*seed=*/33)) {
    if (!problem.is_per_latent()) continue;
    Random random(34);
    const Array all = many_draws(draws, [&] {
      return problem.dependence->sample(problem.parameters[0], 3, random);
    });
    for (std::int64_t j = 0; j < 3; ++j) {
      expect_moments(moments(all[j]), nd::zeros({7}, nd::kDouble),
                     problem.covariance(problem.parameters[0])[j], draws,
                     problem.text());
    }
    // Columns have nothing in common.
    const Array products = (all[0] * all[1]).mean(1);
    EXPECT_LT(products.abs().max().item<double>(), 0.4) << problem.text();
    EXPECT_THROW(problem.dependence->sample(problem.parameters[0], 2, random),
                 InputError);
  }
}

TEST(Sample, DependsOnTheSeedOnly) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 1, 3, /*seed=*/31)) {
    const auto draw = [&](std::uint64_t seed) {
      Random random(seed);
      return problem.dependence->sample(problem.parameters[0], 3, random);
    };
    EXPECT_TRUE(nd::equal(draw(1), draw(1))) << problem.text();
    EXPECT_FALSE(nd::equal(draw(1), draw(2))) << problem.text();
  }
}

/// The textbook formula with explicit inverses, column by column.
/// @param covariance [L, n, n]
ConditionalLaw dense_condition(const Array& covariance, const Array& observed,
                               const Array& unknown, const Array& latents) {
  const auto part = [&](const Array& rows, const Array& columns) {
    return covariance.index_select(1, rows).index_select(2, columns);
  };
  const Array regression =
      nd::matmul(part(unknown, observed), nd::linalg_inv(part(observed, observed)));
  return {unknown,
          nd::matmul(regression, latents.t().unsqueeze(2)).squeeze(2).t().contiguous(),
          part(unknown, unknown) - nd::matmul(regression, part(observed, unknown))};
}

TEST(Condition, MatchesTheDenseFormula) {
  const Array observed = whole_numbers({6, 0, 3});
  const Array unknown = whole_numbers({1, 2, 4, 5});
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 1, 3, /*seed=*/41)) {
    const Array latents = problem.latents[0].index_select(0, observed);
    const ConditionalLaw law =
        problem.dependence->condition(problem.parameters[0], observed, latents);
    const ConditionalLaw expected = dense_condition(
        problem.covariance_at(problem.parameters[0]), observed, unknown, latents);
    EXPECT_TRUE(nd::equal(law.rows, unknown));
    expect_near(law.mean, expected.mean, 1e-10, problem.text());
    expect_near(law.covariance, expected.covariance, 1e-10, problem.text());
  }
}

TEST(ConditionRows, AreTheDiagonalOfTheConditionalLaw) {
  for (const Problem& problem : oracle::random_problems()) {
    const std::int64_t n = problem.rows();
    const Array covariance = problem.covariance_at(problem.parameters[0]);
    const Array order = oracle::whole_numbers(Random(45).permutation(n));
    for (const std::int64_t q : {std::int64_t{0}, n / 3, (2 * n + 2) / 3, n - 1, n}) {
      const Array observed = order.narrow(0, 0, q);
      const Array unknown = std::get<0>(order.narrow(0, q, n - q).sort());
      const Array latents = problem.latents[0].index_select(0, observed);
      const ConditionalRows rows =
          problem.dependence->condition_rows(problem.parameters[0], observed, latents);
      const ConditionalLaw law =
          problem.dependence->condition(problem.parameters[0], observed, latents);
      const ConditionalLaw expected =
          dense_condition(covariance, observed, unknown, latents);
      EXPECT_TRUE(nd::equal(rows.rows, unknown)) << problem.text();
      expect_near(rows.mean, law.mean, 1e-10, problem.text());
      const auto diagonal = [](const ConditionalLaw& of) {
        return of.covariance.diagonal(0, 1, 2).t().contiguous();
      };
      expect_near(rows.variance, diagonal(law), 1e-10, problem.text());
      expect_near(rows.mean, expected.mean, 1e-10, problem.text());
      expect_near(rows.variance, diagonal(expected), 1e-10, problem.text());
    }
  }
}

TEST(ConditionRows, RefuseRowsThatAreMissingOrRepeated) {
  const Array latents = nd::zeros({2, 2}, nd::kDouble);
  for (const Problem& problem :
       oracle::problems_of_every_structure({3, 1}, 1, 2, /*seed=*/46)) {
    for (const auto& rows : {std::vector<std::int64_t>{0, 4}, {-1, 2}, {2, 2}, {2}}) {
      EXPECT_THROW(problem.dependence->condition_rows(problem.parameters[0],
                                                      whole_numbers(rows), latents),
                   InputError)
          << problem.text();
    }
  }
}

TEST(Condition, OnNothingIsTheUnconditionalLaw) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({3, 1}, 1, 2, /*seed=*/42)) {
    const ConditionalLaw law =
        problem.dependence->condition(problem.parameters[0], nd::empty({0}, nd::kLong),
                                      nd::empty({0, 2}, nd::kDouble));
    EXPECT_TRUE(nd::equal(law.rows, nd::arange(4, nd::kLong)));
    expect_near(law.mean, nd::zeros({4, 2}, nd::kDouble), 0, problem.text());
    expect_near(law.covariance, problem.covariance_at(problem.parameters[0]), 1e-12,
                problem.text());
  }
}

TEST(Condition, OnEverythingLeavesNothing) {
  const Array all = whole_numbers({2, 0, 3, 1});
  for (const Problem& problem :
       oracle::problems_of_every_structure({3, 1}, 1, 2, /*seed=*/43)) {
    const Array latents = problem.latents[0].index_select(0, all);
    const ConditionalLaw law =
        problem.dependence->condition(problem.parameters[0], all, latents);
    EXPECT_EQ(law.rows.size(0), 0) << problem.text();
    EXPECT_EQ(law.mean.sizes(), nd::IntArrayRef({0, 2})) << problem.text();
    Random random(44);
    EXPECT_TRUE(nd::equal(
        problem.dependence->sample_given(problem.parameters[0], all, latents, random),
        problem.latents[0]))
        << problem.text();
  }
}

TEST(Condition, RefusesRowsThatAreMissingOrRepeated) {
  const Independent independent(4);
  const Array none = nd::empty({0}, nd::kDouble);
  const Array latents = nd::zeros({2, 1}, nd::kDouble);
  EXPECT_THROW(independent.condition(none, whole_numbers({0, 4}), latents), InputError);
  EXPECT_THROW(independent.condition(none, whole_numbers({-1, 2}), latents),
               InputError);
  EXPECT_THROW(independent.condition(none, whole_numbers({2, 2}), latents), InputError);
  EXPECT_THROW(independent.condition(none, whole_numbers({2}), latents), InputError);
}

TEST(Condition, OnRowsThatDetermineEachOtherIsANumericalError) {
  const Blocks blocks(whole_numbers({0, 0, 0}));
  EXPECT_THROW(blocks.condition(nd::ones({1}, nd::kDouble), whole_numbers({0, 1}),
                                nd::zeros({2, 1}, nd::kDouble)),
               NumericalError);
}

TEST(SampleGiven, KeepsTheObservedRowsAndHasTheMomentsOfTheConditionalLaw) {
  const std::int64_t columns = 20000;
  const Array observed = whole_numbers({6, 0, 3});
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 1, 1, /*seed=*/51)) {
    if (problem.is_per_latent()) continue;
    const Array latents = problem.latents[0].index_select(0, observed);
    const Array repeated = latents.expand({3, columns});
    Random random(52);
    const Array draw = problem.dependence->sample_given(problem.parameters[0], observed,
                                                        repeated, random);
    EXPECT_TRUE(nd::equal(draw.index_select(0, observed), repeated)) << problem.text();
    const ConditionalLaw law =
        problem.dependence->condition(problem.parameters[0], observed, latents);
    expect_moments(moments(draw.index_select(0, law.rows)), law.mean.squeeze(1),
                   law.covariance[0], columns, problem.text());
  }
}

TEST(SampleGiven, OfEachLatentHasTheMomentsOfItsOwnConditionalLaw) {
  const std::int64_t draws = 2000;
  const Array observed = whole_numbers({6, 0, 3});
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 1, 3, /*seed=*/53)) {
    if (!problem.is_per_latent()) continue;
    const Array latents = problem.latents[0].index_select(0, observed);
    Random random(54);
    const Array all = many_draws(draws, [&] {
      return problem.dependence->sample_given(problem.parameters[0], observed, latents,
                                              random);
    });
    const ConditionalLaw law =
        problem.dependence->condition(problem.parameters[0], observed, latents);
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_TRUE(nd::equal(all[j].index_select(0, observed).select(1, 0),
                            latents.select(1, j)))
          << problem.text();
      expect_moments(moments(all[j].index_select(0, law.rows)), law.mean.select(1, j),
                     law.covariance[j], draws, problem.text());
    }
  }
}

TEST(PerLatent, LatentsOfAnotherNumberOfColumnsAreRefused) {
  const PerLatent law(std::make_shared<Blocks>(whole_numbers({0, 0, 1})), 2);
  const Array parameters = nd::full({1, 2}, 0.5, nd::kDouble);
  EXPECT_THROW(law.log_density(parameters, nd::zeros({1, 3, 3}, nd::kDouble)),
               InputError);
  EXPECT_THROW(
      law.condition(parameters[0], whole_numbers({0}), nd::zeros({1, 1}, nd::kDouble)),
      InputError);
  EXPECT_THROW(PerLatent(std::make_shared<Blocks>(whole_numbers({0, 0})), 0),
               InputError);
  EXPECT_THROW(PerLatent(std::make_shared<PerLatent>(
                             std::make_shared<Blocks>(whole_numbers({0, 0})), 2),
                         2),
               InputError);
}

TEST(PerLatent, EqualParametersGiveTheSharedLaw) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 2}, 2, 3, /*seed=*/55)) {
    if (problem.is_per_latent()) continue;
    const PerLatent own(problem.dependence, 3);
    const Array parameters = problem.parameters.repeat({1, 3});
    expect_near(own.log_density(parameters, problem.latents),
                problem.dependence->log_density(problem.parameters, problem.latents),
                1e-12, problem.text());
    expect_near(own.row_worth(parameters),
                problem.dependence->row_worth(problem.parameters), 1e-12,
                problem.text());
  }
}

TEST(Blocks, NumberBlocksByLabelAndParametersByBlock) {
  const Blocks blocks(whole_numbers({40, -3, 40, 7, 12, -3, 40}));
  EXPECT_EQ(blocks.rows(), 7);
  EXPECT_EQ(blocks.block_count(), 4);
  EXPECT_EQ(blocks.parameter_count(), 2);
  EXPECT_TRUE(nd::equal(blocks.labels(), whole_numbers({-3, 7, 12, 40})));
  EXPECT_TRUE(nd::equal(blocks.sizes(), whole_numbers({2, 1, 1, 3})));
  EXPECT_TRUE(nd::equal(blocks.block_of_row(), whole_numbers({3, 0, 3, 1, 2, 0, 3})));
  EXPECT_TRUE(nd::equal(blocks.parameter_of_block(), whole_numbers({0, -1, -1, 1})));
}

TEST(Blocks, SharedCorrelationIsOneParameterOrNone) {
  const BlocksOptions shared{.correlation = BlockCorrelation::shared};
  const Blocks two(whole_numbers({5, 5, 2, 9, 9}), shared);
  EXPECT_EQ(two.parameter_count(), 1);
  EXPECT_TRUE(nd::equal(two.parameter_of_block(), whole_numbers({-1, 0, 0})));
  EXPECT_EQ(Blocks(whole_numbers({5, 2, 9}), shared).parameter_count(), 0);
}

TEST(Blocks, OneParameterForEachSizeInIncreasingOrder) {
  const Blocks blocks(whole_numbers({1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5}),
                      {.correlation = BlockCorrelation::per_size});
  EXPECT_EQ(blocks.parameter_count(), 2);
  EXPECT_TRUE(nd::equal(blocks.parameter_of_block(), whole_numbers({1, 0, 0, -1, 1})));
}

TEST(Blocks, RefuseLabelsThatAreNotAListOfWholeNumbers) {
  EXPECT_THROW(Blocks(nd::zeros({3}, nd::kDouble)), InputError);
  EXPECT_THROW(Blocks(nd::zeros({3, 1}, nd::kLong)), InputError);
  EXPECT_THROW(Blocks(nd::zeros({0}, nd::kLong)), InputError);
}

TEST(Relationship, DecompositionGivesTheMatrixBack) {
  Random random(61);
  const Array factor = oracle::normal({30, 9}, random);
  const Array matrix = nd::mm(factor, factor.t());
  const SpectralDecomposition parts = decompose_relationship(matrix);
  const Array& vectors = parts.eigenvectors;
  expect_near(nd::mm(vectors * parts.eigenvalues, vectors.t()), matrix, 1e-13, "G");
  expect_near(nd::mm(vectors.t(), vectors), nd::eye(30, nd::kDouble), 1e-13, "Q'Q");
  EXPECT_GE(parts.eigenvalues.min().item<double>(), 0);
  const Relationship again(parts);
  expect_near(again.covariance(nd::full({1}, 0.25, nd::kDouble))[0],
              0.25 * nd::eye(30, nd::kDouble) + 0.75 * matrix, 1e-13, "C");
}

std::string refusal(const Array& matrix) {
  try {
    Relationship relationship(matrix);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Relationship, RefusesMatricesThatAreNotPositiveSemidefinite) {
  Array matrix = nd::eye(3, nd::kDouble);
  matrix[0][1] = matrix[1][0] = 2;
  EXPECT_NE(refusal(matrix).find("not positive semidefinite: smallest eigenvalue -1"),
            std::string::npos)
      << refusal(matrix);
  EXPECT_NE(refusal(-nd::eye(3, nd::kDouble)).find("not positive semidefinite"),
            std::string::npos);
}

TEST(Relationship, RefusesMatricesThatAreNotSquareSymmetricAndFinite) {
  EXPECT_NE(refusal(nd::zeros({3, 2}, nd::kDouble)).find("square"), std::string::npos);
  Array matrix = nd::eye(3, nd::kDouble);
  matrix[2][0] = 0.5;
  EXPECT_NE(refusal(matrix).find("0 in row 1, column 3 and 0.5 in row 3, column 1"),
            std::string::npos)
      << refusal(matrix);
  matrix[0][2] = std::nan("");
  EXPECT_NE(refusal(matrix).find("nan in row 1, column 3"), std::string::npos)
      << refusal(matrix);
}

TEST(Relationship, RefusesDecompositionsThatDoNotFitTogether) {
  const Array vectors = nd::eye(3, nd::kDouble);
  EXPECT_THROW(Relationship(SpectralDecomposition{vectors, nd::ones({2}, nd::kDouble)}),
               InputError);
  EXPECT_THROW(
      Relationship(SpectralDecomposition{vectors, -nd::ones({3}, nd::kDouble)}),
      InputError);
}

TEST(Independent, RefusesNoRows) { EXPECT_THROW(Independent(0), InputError); }

}  // namespace
}  // namespace kinflow
