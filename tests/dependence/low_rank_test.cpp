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
  const at::Tensor factor = oracle::normal({40, 6}, random) / std::sqrt(6.0);
  const Relationship thin(decompose_factor(factor));
  const Relationship dense(at::mm(factor, factor.t()));
  ASSERT_EQ(thin.rank(), 6);
  ASSERT_EQ(dense.rank(), 40);
  const at::Tensor parameters = oracle::uniform({3, 1}, 0.01, 0.99, random);
  const at::Tensor latents = oracle::normal({3, 40, 2}, random);
  const at::Tensor rows = oracle::whole_numbers({39, 4, 17, 0});
  const at::Tensor batch = latents.index_select(1, rows);
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
  const at::Tensor first = oracle::normal({50, 4}, random);
  const at::Tensor second = at::mm(first, oracle::normal({4, 4}, random)) +
                            1e-7 * oracle::normal({50, 4}, random);
  const at::Tensor factor = at::cat({first, second}, 1);
  const SpectralDecomposition parts = decompose_factor(factor);
  const at::Tensor& vectors = parts.eigenvectors;
  ASSERT_EQ(vectors.size(1), 8);
  expect_near(at::mm(vectors * parts.eigenvalues, vectors.t()),
              at::mm(factor, factor.t()), 1e-13, "G");
  expect_near(at::mm(vectors.t(), vectors), at::eye(8, at::kDouble), 1e-13, "Q'Q");
  EXPECT_TRUE((parts.eigenvalues.diff() >= 0).all().item<bool>());
}

TEST(LowRank, ColumnsThatCombineOthersAreDropped) {
  Random random(73);
  const at::Tensor first = oracle::normal({50, 4}, random);
  const at::Tensor factor = at::cat({first, first.sum(1, true)}, 1);
  EXPECT_EQ(decompose_factor(factor).eigenvalues.size(0), 4);
  EXPECT_EQ(decompose_factor(at::zeros({5, 2}, at::kDouble)).eigenvalues.size(0), 1);
}

TEST(LowRank, RefusesFactorsThatAreEmptyOrNotFinite) {
  EXPECT_THROW(decompose_factor(at::zeros({5}, at::kDouble)), InputError);
  EXPECT_THROW(decompose_factor(at::zeros({5, 0}, at::kDouble)), InputError);
  at::Tensor factor = at::ones({3, 2}, at::kDouble);
  factor[2][1] = std::nan("");
  EXPECT_THROW(decompose_factor(factor), InputError);
}

TEST(LowRank, PrincipalComponentsGiveTheCorrelationMatrixOfTheirRows) {
  Random random(74);
  const at::Tensor components = 5 + 3 * oracle::normal({20, 7}, random);
  const at::Tensor factor = principal_component_factor(components);
  expect_near(at::mm(factor, factor.t()), at::corrcoef(components), 1e-13, "G");
  EXPECT_EQ(decompose_factor(factor).eigenvalues.size(0), 6);
}

TEST(LowRank, RefusesPrincipalComponentsWithoutACorrelation) {
  at::Tensor components = at::eye(3, at::kDouble);
  components[1].fill_(0.1);
  try {
    principal_component_factor(components);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("row 2"), std::string::npos);
  }
  EXPECT_THROW(principal_component_factor(at::ones({3, 1}, at::kDouble)), InputError);
}

TEST(TimeRelationship, HasTheElementsOfItsDefinition) {
  const at::Tensor times = at::tensor({3.0, 1.0, 1.5}, at::kDouble);
  const at::Tensor gaussian = gaussian_time_relationship(times, 0.5);
  const at::Tensor markov = markov_time_relationship(times, 0.5);
  EXPECT_DOUBLE_EQ(gaussian[0][1].item<double>(), std::exp(-2.0));
  EXPECT_DOUBLE_EQ(markov[0][2].item<double>(), std::exp(-0.75));
  EXPECT_NO_THROW(Relationship{gaussian});
  EXPECT_THROW(gaussian_time_relationship(times, 0), InputError);
  EXPECT_THROW(gaussian_time_relationship(times / 0, 1), InputError);
}

}  // namespace
}  // namespace kinflow
