// Relationship matrices of low rank: equal to the dense ones, made from factors.
#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/dependence/relationship_matrices.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

TEST(LowRank, EqualsTheDenseRelationshipOnTheSameMatrix) {
  Random random(71);
  const Array factor = oracle::normal({40, 6}, random) / std::sqrt(6.0);
  const Relationship thin(decompose_factor(factor));
  const Relationship dense(nd::mm(factor, factor.t()));
  ASSERT_EQ(thin.rank(), 6);
  ASSERT_EQ(dense.rank(), 40);
  const Array parameters = oracle::uniform({3, 1}, 0.01, 0.99, random);
  const Array latents = oracle::normal({3, 40, 2}, random);
  const Array rows = oracle::whole_numbers({39, 4, 17, 0});
  const Array batch = latents.index_select(1, rows);
  expect_near(thin.log_density(parameters, latents),
              dense.log_density(parameters, latents), 1e-12, "log density");
  expect_near(thin.precision_times(parameters, latents),
              dense.precision_times(parameters, latents), 1e-11, "C^-1 U");
  expect_near(thin.parameter_gradient(parameters, latents),
              dense.parameter_gradient(parameters, latents), 1e-11, "gradient");
  expect_near(thin.pairs_rows(parameters, rows, batch),
              dense.pairs_rows(parameters, rows, batch), 1e-11, "pairs");
  expect_near(thin.pairs_parameter_gradient(parameters, rows, batch),
              dense.pairs_parameter_gradient(parameters, rows, batch), 1e-11,
              "gradient of pairs");
  const ConditionalLaw law = thin.condition(parameters[0], rows, batch[0]);
  const ConditionalLaw expected = dense.condition(parameters[0], rows, batch[0]);
  expect_near(law.mean, expected.mean, 1e-11, "conditional mean");
  expect_near(law.covariance, expected.covariance, 1e-11, "conditional covariance");
}

TEST(LowRank, DecompositionOfAFactorGivesTheMatrixBack) {
  Random random(72);
  // The second half of the columns are nearly combinations of the first.
  const Array first = oracle::normal({50, 4}, random);
  const Array second = nd::mm(first, oracle::normal({4, 4}, random)) +
                       1e-7 * oracle::normal({50, 4}, random);
  const Array factor = nd::cat({first, second}, 1);
  const SpectralDecomposition parts = decompose_factor(factor);
  const Array& vectors = parts.eigenvectors;
  ASSERT_EQ(vectors.size(1), 8);
  expect_near(nd::mm(vectors * parts.eigenvalues, vectors.t()),
              nd::mm(factor, factor.t()), 1e-13, "G");
  expect_near(nd::mm(vectors.t(), vectors), nd::eye(8, nd::kDouble), 1e-13, "Q'Q");
  EXPECT_TRUE((parts.eigenvalues.diff() >= 0).all().item<bool>());
}

TEST(LowRank, ColumnsThatCombineOthersAreDropped) {
  Random random(73);
  const Array first = oracle::normal({50, 4}, random);
  const Array factor = nd::cat({first, first.sum(1, true)}, 1);
  EXPECT_EQ(decompose_factor(factor).eigenvalues.size(0), 4);
  EXPECT_EQ(decompose_factor(nd::zeros({5, 2}, nd::kDouble)).eigenvalues.size(0), 1);
}

TEST(LowRank, RefusesFactorsThatAreEmptyOrNotFinite) {
  EXPECT_THROW(decompose_factor(nd::zeros({5}, nd::kDouble)), InputError);
  EXPECT_THROW(decompose_factor(nd::zeros({5, 0}, nd::kDouble)), InputError);
  Array factor = nd::ones({3, 2}, nd::kDouble);
  factor[2][1] = std::nan("");
  EXPECT_THROW(decompose_factor(factor), InputError);
}

/// The correlations of the rows.
Array correlations(const Array& rows) {
  const Array centered = rows - rows.mean({1}, true);
  const Array scaled = centered / centered.norm(2, 1, true);
  return nd::mm(scaled, scaled.t());
}

TEST(LowRank, PrincipalComponentsGiveTheCorrelationMatrixOfTheirRows) {
  Random random(74);
  const Array components = 5 + 3 * oracle::normal({20, 7}, random);
  const Array factor = principal_component_factor(components);
  expect_near(nd::mm(factor, factor.t()), correlations(components), 1e-13, "G");
  EXPECT_EQ(decompose_factor(factor).eigenvalues.size(0), 6);
}

TEST(LowRank, RefusesPrincipalComponentsWithoutACorrelation) {
  Array components = nd::eye(3, nd::kDouble);
  components[1].fill_(0.1);
  try {
    principal_component_factor(components);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("row 2"), std::string::npos);
  }
  EXPECT_THROW(principal_component_factor(nd::ones({3, 1}, nd::kDouble)), InputError);
}

TEST(TimeRelationship, HasTheElementsOfItsDefinition) {
  const Array times = nd::tensor({3.0, 1.0, 1.5}, nd::kDouble);
  const Array gaussian = gaussian_time_relationship(times, 0.5);
  const Array markov = markov_time_relationship(times, 0.5);
  EXPECT_DOUBLE_EQ(gaussian[0][1].item<double>(), std::exp(-2.0));
  EXPECT_DOUBLE_EQ(markov[0][2].item<double>(), std::exp(-0.75));
  EXPECT_NO_THROW(Relationship{gaussian});
  EXPECT_THROW(gaussian_time_relationship(times, 0), InputError);
  EXPECT_THROW(gaussian_time_relationship(times / 0, 1), InputError);
}

}  // namespace
}  // namespace kinflow
