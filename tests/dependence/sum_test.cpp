// Sums of relationships reduce to their parts; unstructured dependence; refusals.
#include <cmath>

#include "kinflow/core/error.h"
#include "oracle.h"

namespace kinflow {
namespace {

using oracle::expect_near;

at::Tensor some_relationship(std::int64_t n, Random& random) {
  const at::Tensor factor = oracle::normal({n, n}, random);
  return at::mm(factor, factor.t()) / n;
}

TEST(RelationshipSum, OfOneMatrixIsTheRelationship) {
  Random random(101);
  const at::Tensor matrix = some_relationship(25, random);
  const RelationshipSum sum({matrix});
  const Relationship alone(matrix);
  const at::Tensor share = oracle::uniform({3, 1}, 0.05, 0.95, random);
  const at::Tensor weights = at::cat({share, 1 - share}, 1);
  const at::Tensor latents = oracle::normal({3, 25, 2}, random);
  expect_near(sum.log_density(weights, latents), alone.log_density(share, latents),
              1e-12, "log density");
  expect_near(sum.precision_times(weights, latents),
              alone.precision_times(share, latents), 1e-11, "C^-1 U");
  const at::Tensor gradient = sum.parameter_gradient(weights, latents);
  expect_near(gradient.narrow(1, 0, 1) - gradient.narrow(1, 1, 1),
              alone.parameter_gradient(share, latents), 1e-11, "gradient");
}

TEST(RelationshipSum, WithOneWeightAtZeroIsTheSumOfTheOthers) {
  Random random(102);
  const at::Tensor first = some_relationship(20, random);
  const at::Tensor second = some_relationship(20, random);
  const RelationshipSum both({first, second});
  const RelationshipSum one({first});
  const at::Tensor latents = oracle::normal({1, 20, 2}, random);
  const at::Tensor weights = at::tensor({0.3, 0.7, 0.0}, at::kDouble).unsqueeze(0);
  const at::Tensor fewer = weights.narrow(1, 0, 2);
  expect_near(both.log_density(weights, latents), one.log_density(fewer, latents),
              1e-13, "log density");
  expect_near(both.parameter_gradient(weights, latents).narrow(1, 0, 2),
              one.parameter_gradient(fewer, latents), 1e-13, "gradient");
}

TEST(RelationshipSum, OfBlocksIsTheBlocksStructure) {
  Random random(103);
  const at::Tensor labels = oracle::whole_numbers({0, 0, 1, 1, 1, 2, 0});
  const RelationshipSum sum({block_relationship(labels)});
  const Blocks blocks(labels, {.correlation = BlockCorrelation::shared});
  const at::Tensor latents = oracle::normal({1, 7, 2}, random);
  const at::Tensor correlation = at::full({1, 1}, 0.35, at::kDouble);
  const at::Tensor weights = at::cat({1 - correlation, correlation}, 1);
  expect_near(sum.log_density(weights, latents),
              blocks.log_density(correlation, latents), 1e-13, "log density");
  const at::Tensor gradient = sum.parameter_gradient(weights, latents);
  expect_near(gradient.narrow(1, 1, 1) - gradient.narrow(1, 0, 1),
              blocks.parameter_gradient(correlation, latents), 1e-12, "gradient");
}

TEST(RelationshipSum, WeightsWithoutBoundsLieOnTheSimplex) {
  const RelationshipSum sum({at::eye(3, at::kDouble), at::ones({3, 3}, at::kDouble)});
  const at::Tensor weights = sum.from_unconstrained(
      at::tensor({5.0, -40.0, 1.0, 0.0, 0.0, 0.0}, at::kDouble).view({2, 3}));
  EXPECT_GE(weights.min().item<double>(), 1e-9);
  expect_near(weights.sum(1), at::ones({2}, at::kDouble), 1e-8, "sum");
}

TEST(RelationshipSum, RefusesMatricesThatDoNotFit) {
  const at::Tensor matrix = at::eye(3, at::kDouble);
  EXPECT_THROW(RelationshipSum({}), InputError);
  EXPECT_THROW(RelationshipSum({matrix, at::eye(4, at::kDouble)}), InputError);
  EXPECT_THROW(RelationshipSum({matrix}, {.largest_rows = 2}), InputError);
  EXPECT_THROW(RelationshipSum({-matrix}), InputError);
  EXPECT_THROW(RelationshipSum({at::ones({2, 3}, at::kDouble)}), InputError);
}

TEST(RelationshipSum, SaysAtWhichWeightsItIsNotPositiveDefinite) {
  const RelationshipSum sum({at::ones({3, 3}, at::kDouble)});
  try {
    sum.log_det(at::tensor({0.0, 1.0}, at::kDouble).unsqueeze(0));
    FAIL() << "accepted";
  } catch (const NumericalError& error) {
    EXPECT_NE(std::string(error.what()).find("0, 1"), std::string::npos);
  }
}

TEST(Unstructured, WithAllParametersZeroIsIndependent) {
  const Unstructured law(6);
  EXPECT_EQ(law.parameter_count(), 21);
  expect_near(law.covariance(at::zeros({21}, at::kDouble)), at::eye(6, at::kDouble), 0,
              "C");
}

TEST(Unstructured, RefusesMoreRowsThanItCanLearn) {
  try {
    Unstructured law(501);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("125751 parameters"), std::string::npos);
  }
  EXPECT_NO_THROW(Unstructured(501, {.largest_rows = 600}));
  EXPECT_THROW(Unstructured(0), InputError);
}

}  // namespace
}  // namespace kinflow
