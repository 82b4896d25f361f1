// Sums of relationships, dense and sparse, reduce to their parts; decay in time with a
// learned rate; unstructured dependence; refusals.
#include <cmath>

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

at::Tensor some_relationship(std::int64_t n, Random& random) {
  const at::Tensor factor = oracle::normal({n, n}, random);
  return at::mm(factor, factor.t()) / n;
}

/// With weights that add up to 1 a sum of one matrix is the law of that matrix alone.
void expect_sum_of_one(const RelationshipSum& sum, const Dependence& alone,
                       Random& random) {
  const at::Tensor share = oracle::uniform({3, 1}, 0.05, 0.95, random);
  const at::Tensor weights = at::cat({share, 1 - share}, 1);
  const at::Tensor latents = oracle::normal({3, alone.rows(), 2}, random);
  expect_near(sum.log_density(weights, latents), alone.log_density(share, latents),
              1e-12, "log density");
  expect_near(sum.precision_times(weights, latents),
              alone.precision_times(share, latents), 1e-11, "C^-1 U");
  const at::Tensor gradient = sum.parameter_gradient(weights, latents);
  expect_near(gradient.narrow(1, 0, 1) - gradient.narrow(1, 1, 1),
              alone.parameter_gradient(share, latents), 1e-11, "gradient");
}

TEST(RelationshipSum, OfOneMatrixIsTheRelationship) {
  Random random(101);
  const at::Tensor matrix = some_relationship(25, random);
  const RelationshipSum sum({matrix});
  const Relationship alone(matrix);
  expect_sum_of_one(sum, alone, random);
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
  const RelationshipSum sum({block_rows(labels)});
  EXPECT_EQ(sum.component_count(), 3);
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

TEST(RelationshipSum, OfOneSparseMatrixIsTheFamilies) {
  Random random(104);
  const std::vector<std::int64_t> sizes = {4, 1, 4, 7, 2, 4, 1};
  const CompressedRows matrix = oracle::compress(
      oracle::families_matrix(sizes, oracle::random_order(sizes, random), random));
  const RelationshipSum sum({matrix});
  const Families alone(matrix);
  EXPECT_EQ(sum.component_count(), alone.component_count());
  EXPECT_EQ(sum.rows_of_largest_component(), 7);
  expect_sum_of_one(sum, alone, random);
}

TEST(RelationshipSum, OfSparseMatricesEqualsThatOfTheSameDenseOnes) {
  Random random(105);
  const std::vector<std::int64_t> sizes = {3, 1, 5, 3, 2, 1, 3};
  const at::Tensor order = oracle::random_order(sizes, random);
  const at::Tensor first = oracle::families_matrix(sizes, order, random);
  const at::Tensor second = oracle::families_matrix(sizes, order, random);
  const RelationshipSum dense({first, second});
  const RelationshipSum sparse({oracle::compress(first), oracle::compress(second)});
  const RelationshipSum mixed({first, oracle::compress(second)});
  EXPECT_EQ(dense.component_count(), 1);
  EXPECT_EQ(sparse.component_count(), 7);
  EXPECT_EQ(mixed.component_count(), 1);
  const at::Tensor weights =
      at::tensor({0.2, 0.5, 0.3, 0.6, 0.1, 0.3}, at::kDouble).view({2, 3});
  const at::Tensor latents = oracle::normal({2, 18, 2}, random);
  const at::Tensor rows = oracle::whole_numbers({17, 2, 3, 11, 6, 5});
  const at::Tensor batch = latents.index_select(1, rows);
  for (const RelationshipSum* other : {&sparse, &mixed}) {
    expect_near(other->log_density(weights, latents),
                dense.log_density(weights, latents), 1e-12, "log density");
    expect_near(other->parameter_gradient(weights, latents),
                dense.parameter_gradient(weights, latents), 1e-11, "gradient");
    expect_near(other->pairs_rows(weights, rows, batch),
                dense.pairs_rows(weights, rows, batch), 1e-11, "pairs");
    expect_near(other->pairs_parameter_gradient(weights, rows, batch),
                dense.pairs_parameter_gradient(weights, rows, batch), 1e-11,
                "pairs gradient");
    const ConditionalLaw law = other->condition(weights[0], rows, batch[0]);
    const ConditionalLaw expected = dense.condition(weights[0], rows, batch[0]);
    expect_near(law.mean, expected.mean, 1e-11, "mean");
    expect_near(law.covariance, expected.covariance, 1e-11, "covariance");
  }
}

TEST(RelationshipSum, OfSparseMatricesTakesMoreRowsThanOneDenseMatrixCould) {
  // 100,000 x 100,000 numbers would need 80 gigabytes.
  const std::int64_t n = 100000;
  const at::Tensor row = at::arange(n, at::kLong);
  const RelationshipSum sum(
      {block_rows(row.floor_divide(4)), block_rows(row.floor_divide(2))});
  EXPECT_EQ(sum.component_count(), n / 4);
  Random random(106);
  const at::Tensor weights = at::tensor({0.5, 0.2, 0.3}, at::kDouble).unsqueeze(0);
  const at::Tensor latents = sum.sample(weights[0], 1, random).unsqueeze(0);
  // The four rows of every family: 0.5 I + 0.2 + 0.3 for pairs.
  const at::Tensor family = 0.5 * at::eye(4, at::kDouble) + 0.2 +
                            0.3 * oracle::same_label(at::arange(4).floor_divide(2));
  expect_near(sum.log_det(weights), (n / 4) * at::logdet(family).unsqueeze(0), 1e-12,
              "log det");
  const at::Tensor by_family = latents.view({n / 4, 4});
  expect_near(sum.precision_times(weights, latents).view({n / 4, 4}),
              at::mm(by_family, at::linalg_inv(family)), 1e-11, "C^-1 U");
  const at::Tensor odd = row.index_select(0, at::nonzero(row % 2).squeeze(1));
  const ConditionalRows law =
      sum.condition_rows(weights[0], odd, latents[0].index_select(0, odd));
  EXPECT_EQ(law.rows.size(0), n / 2);
}

TEST(RelationshipSum, SaysHowManyRowsAreConnectedWhereTheyAreTooMany) {
  const auto refusal = [](const std::vector<SumPart>& parts) {
    try {
      RelationshipSum sum(parts, {.largest_component = 4});
      return std::string("accepted");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  const at::Tensor labels = oracle::whole_numbers({0, 0, 0, 1, 1, 2, 2, 2});
  EXPECT_EQ(refusal({block_rows(labels)}), "accepted");
  // Rows 2 and 3 join the first two blocks.
  const at::Tensor bridge = oracle::whole_numbers({0, 1, 2, 2, 3, 4, 5, 6});
  EXPECT_NE(refusal({block_rows(labels), block_rows(bridge)}).find("received 5"),
            std::string::npos);
  EXPECT_NE(refusal({at::eye(8, at::kDouble)}).find("received 8"), std::string::npos);
}

TEST(RelationshipSum, NamesARowOfAComponentThatIsNotPositiveSemidefinite) {
  at::Tensor matrix = oracle::same_label(oracle::whole_numbers({0, 0, 1, 2, 1, 2}));
  matrix[3][5] = matrix[5][3] = -3;
  try {
    RelationshipSum sum(
        {block_rows(at::arange(6, at::kLong)), oracle::compress(matrix)});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("part 2 a component of 2 rows (row 4)"), std::string::npos)
        << text;
    EXPECT_NE(text.find("eigenvalue -2"), std::string::npos) << text;
  }
}

TEST(RelationshipSum, TakesPartsThatLeaveRowsOut) {
  // The second part has nothing in row 2, not even on the diagonal.
  at::Tensor second = oracle::same_label(oracle::whole_numbers({0, 0, 1}));
  second[2][2] = 0;
  const RelationshipSum sum(
      {block_rows(oracle::whole_numbers({0, 1, 1})), oracle::compress(second)});
  const at::Tensor weights = at::tensor({0.2, 0.3, 0.5}, at::kDouble);
  expect_near(sum.covariance(weights)[0],
              0.2 * at::eye(3, at::kDouble) +
                  0.3 * oracle::same_label(oracle::whole_numbers({0, 1, 1})) +
                  0.5 * second,
              1e-15, "C");
}

TEST(BlockRows, AreOneWhereLabelsAreEqual) {
  const at::Tensor labels = oracle::whole_numbers({4, -1, 4, 7, -1});
  const CompressedRows rows = block_rows(labels);
  const CompressedRows expected = oracle::compress(oracle::same_label(labels));
  EXPECT_EQ(rows.row_starts, expected.row_starts);
  EXPECT_EQ(rows.columns, expected.columns);
  EXPECT_EQ(rows.values, expected.values);
  EXPECT_THROW(block_rows(at::zeros({2, 2}, at::kLong)), InputError);
  EXPECT_THROW(block_rows(at::zeros({8001}, at::kLong)), InputError);
}

TEST(GaussianTime, WithItsRateGivenIsTheRelationship) {
  Random random(107);
  const at::Tensor times = oracle::uniform({30}, 0, 9, random);
  const GaussianTime law(times);
  const Relationship alone(gaussian_time_relationship(times, 0.6));
  const at::Tensor share = oracle::uniform({2, 1}, 0.1, 0.9, random);
  const at::Tensor parameters = at::cat({share, at::full_like(share, 0.6)}, 1);
  const at::Tensor latents = oracle::normal({2, 30, 3}, random);
  expect_near(law.log_density(parameters, latents), alone.log_density(share, latents),
              1e-12, "log density");
  expect_near(law.parameter_gradient(parameters, latents).narrow(1, 0, 1),
              alone.parameter_gradient(share, latents), 1e-11, "gradient");
}

TEST(GaussianTime, StartsWhereAUnitOfTimeDoesNotMatter) {
  Random random(108);
  const at::Tensor times = oracle::uniform({20}, 0, 9, random);
  const GaussianTime hours(times), minutes(60 * times);
  expect_near(minutes.covariance(minutes.default_parameters()),
              hours.covariance(hours.default_parameters()), 1e-12, "C");
}

TEST(GaussianTime, RefusesTimesThatAreNotFiniteOrTooMany) {
  EXPECT_THROW(GaussianTime(at::full({3}, std::nan(""), at::kDouble)), InputError);
  EXPECT_THROW(GaussianTime(at::zeros({3, 1}, at::kDouble)), InputError);
  EXPECT_THROW(GaussianTime(at::zeros({3}, at::kDouble), {.largest_rows = 2}),
               InputError);
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
  EXPECT_THROW(RelationshipSum({matrix}, {.largest_component = 2}), InputError);
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
  expect_near(law.covariance(at::zeros({21}, at::kDouble))[0], at::eye(6, at::kDouble),
              0, "C");
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
