// Sums of relationships, dense and sparse, reduce to their parts; decay in time with a
// learned rate; unstructured dependence; refusals.
#include <cmath>

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

Array some_relationship(std::int64_t n, Random& random) {
  const Array factor = oracle::normal({n, n}, random);
  return nd::mm(factor, factor.t()) / n;
}

/// With weights that add up to 1 a sum of one matrix is the law of that matrix alone.
void expect_sum_of_one(const RelationshipSum& sum, const Dependence& alone,
                       Random& random) {
  const Array share = oracle::uniform({3, 1}, 0.05, 0.95, random);
  const Array weights = nd::cat({share, 1 - share}, 1);
  const Array latents = oracle::normal({3, alone.rows(), 2}, random);
  expect_near(sum.log_density(weights, latents), alone.log_density(share, latents),
              1e-12, "log density");
  expect_near(sum.precision_times(weights, latents),
              alone.precision_times(share, latents), 1e-11, "C^-1 U");
  const Array gradient = sum.parameter_gradient(weights, latents);
  expect_near(gradient.narrow(1, 0, 1) - gradient.narrow(1, 1, 1),
              alone.parameter_gradient(share, latents), 1e-11, "gradient");
}

TEST(RelationshipSum, OfOneMatrixIsTheRelationship) {
  Random random(101);
  const Array matrix = some_relationship(25, random);
  const RelationshipSum sum({matrix});
  const Relationship alone(matrix);
  expect_sum_of_one(sum, alone, random);
}

TEST(RelationshipSum, WithOneWeightAtZeroIsTheSumOfTheOthers) {
  Random random(102);
  const Array first = some_relationship(20, random);
  const Array second = some_relationship(20, random);
  const RelationshipSum both({first, second});
  const RelationshipSum one({first});
  const Array latents = oracle::normal({1, 20, 2}, random);
  const Array weights = nd::tensor({0.3, 0.7, 0.0}, nd::kDouble).unsqueeze(0);
  const Array fewer = weights.narrow(1, 0, 2);
  expect_near(both.log_density(weights, latents), one.log_density(fewer, latents),
              1e-13, "log density");
  expect_near(both.parameter_gradient(weights, latents).narrow(1, 0, 2),
              one.parameter_gradient(fewer, latents), 1e-13, "gradient");
}

TEST(RelationshipSum, OfBlocksIsTheBlocksStructure) {
  Random random(103);
  const Array labels = oracle::whole_numbers({0, 0, 1, 1, 1, 2, 0});
  const RelationshipSum sum({block_rows(labels)});
  EXPECT_EQ(sum.component_count(), 3);
  const Blocks blocks(labels, {.correlation = BlockCorrelation::shared});
  const Array latents = oracle::normal({1, 7, 2}, random);
  const Array correlation = nd::full({1, 1}, 0.35, nd::kDouble);
  const Array weights = nd::cat({1 - correlation, correlation}, 1);
  expect_near(sum.log_density(weights, latents),
              blocks.log_density(correlation, latents), 1e-13, "log density");
  const Array gradient = sum.parameter_gradient(weights, latents);
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
  const Array order = oracle::random_order(sizes, random);
  const Array first = oracle::families_matrix(sizes, order, random);
  const Array second = oracle::families_matrix(sizes, order, random);
  const RelationshipSum dense({first, second});
  const RelationshipSum sparse({oracle::compress(first), oracle::compress(second)});
  const RelationshipSum mixed({first, oracle::compress(second)});
  EXPECT_EQ(dense.component_count(), 1);
  EXPECT_EQ(sparse.component_count(), 7);
  EXPECT_EQ(mixed.component_count(), 1);
  const Array weights =
      nd::tensor({0.2, 0.5, 0.3, 0.6, 0.1, 0.3}, nd::kDouble).view({2, 3});
  const Array latents = oracle::normal({2, 18, 2}, random);
  const Array rows = oracle::whole_numbers({17, 2, 3, 11, 6, 5});
  const Array batch = latents.index_select(1, rows);
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
  const Array row = nd::arange(n, nd::kLong);
  const RelationshipSum sum(
      {block_rows(row.floor_divide(4)), block_rows(row.floor_divide(2))});
  EXPECT_EQ(sum.component_count(), n / 4);
  Random random(106);
  const Array weights = nd::tensor({0.5, 0.2, 0.3}, nd::kDouble).unsqueeze(0);
  const Array latents = sum.sample(weights[0], 1, random).unsqueeze(0);
  // The four rows of every family: 0.5 I + 0.2 + 0.3 for pairs.
  const Array family = 0.5 * nd::eye(4, nd::kDouble) + 0.2 +
                       0.3 * oracle::same_label(nd::arange(4).floor_divide(2));
  expect_near(sum.log_det(weights), (n / 4) * nd::logdet(family).unsqueeze(0), 1e-12,
              "log det");
  const Array by_family = latents.view({n / 4, 4});
  expect_near(sum.precision_times(weights, latents).view({n / 4, 4}),
              nd::mm(by_family, nd::linalg_inv(family)), 1e-11, "C^-1 U");
  const Array odd = row.index_select(0, nd::nonzero(row % 2).squeeze(1));
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
  const Array labels = oracle::whole_numbers({0, 0, 0, 1, 1, 2, 2, 2});
  EXPECT_EQ(refusal({block_rows(labels)}), "accepted");
  // Rows 2 and 3 join the first two blocks.
  const Array bridge = oracle::whole_numbers({0, 1, 2, 2, 3, 4, 5, 6});
  EXPECT_NE(refusal({block_rows(labels), block_rows(bridge)}).find("received 5"),
            std::string::npos);
  EXPECT_NE(refusal({nd::eye(8, nd::kDouble)}).find("received 8"), std::string::npos);
}

TEST(RelationshipSum, NamesARowOfAComponentThatIsNotPositiveSemidefinite) {
  Array matrix = oracle::same_label(oracle::whole_numbers({0, 0, 1, 2, 1, 2}));
  matrix[3][5] = matrix[5][3] = -3;
  try {
    RelationshipSum sum(
        {block_rows(nd::arange(6, nd::kLong)), oracle::compress(matrix)});
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
  Array second = oracle::same_label(oracle::whole_numbers({0, 0, 1}));
  second[2][2] = 0;
  const RelationshipSum sum(
      {block_rows(oracle::whole_numbers({0, 1, 1})), oracle::compress(second)});
  const Array weights = nd::tensor({0.2, 0.3, 0.5}, nd::kDouble);
  expect_near(sum.covariance(weights)[0],
              0.2 * nd::eye(3, nd::kDouble) +
                  0.3 * oracle::same_label(oracle::whole_numbers({0, 1, 1})) +
                  0.5 * second,
              1e-15, "C");
}

TEST(BlockRows, AreOneWhereLabelsAreEqual) {
  const Array labels = oracle::whole_numbers({4, -1, 4, 7, -1});
  const CompressedRows rows = block_rows(labels);
  const CompressedRows expected = oracle::compress(oracle::same_label(labels));
  EXPECT_EQ(rows.row_starts, expected.row_starts);
  EXPECT_EQ(rows.columns, expected.columns);
  EXPECT_EQ(rows.values, expected.values);
  EXPECT_THROW(block_rows(nd::zeros({2, 2}, nd::kLong)), InputError);
  EXPECT_THROW(block_rows(nd::zeros({8001}, nd::kLong)), InputError);
}

TEST(GaussianTime, WithItsRateGivenIsTheRelationship) {
  Random random(107);
  const Array times = oracle::uniform({30}, 0, 9, random);
  const GaussianTime law(times);
  const Relationship alone(gaussian_time_relationship(times, 0.6));
  const Array share = oracle::uniform({2, 1}, 0.1, 0.9, random);
  const Array parameters = nd::cat({share, nd::full_like(share, 0.6)}, 1);
  const Array latents = oracle::normal({2, 30, 3}, random);
  expect_near(law.log_density(parameters, latents), alone.log_density(share, latents),
              1e-12, "log density");
  expect_near(law.parameter_gradient(parameters, latents).narrow(1, 0, 1),
              alone.parameter_gradient(share, latents), 1e-11, "gradient");
}

TEST(GaussianTime, StartsWhereAUnitOfTimeDoesNotMatter) {
  Random random(108);
  const Array times = oracle::uniform({20}, 0, 9, random);
  const GaussianTime hours(times), minutes(60 * times);
  expect_near(minutes.covariance(minutes.default_parameters()),
              hours.covariance(hours.default_parameters()), 1e-12, "C");
}

TEST(GaussianTime, RefusesTimesThatAreNotFiniteOrTooMany) {
  EXPECT_THROW(GaussianTime(nd::full({3}, std::nan(""), nd::kDouble)), InputError);
  EXPECT_THROW(GaussianTime(nd::zeros({3, 1}, nd::kDouble)), InputError);
  EXPECT_THROW(GaussianTime(nd::zeros({3}, nd::kDouble), {.largest_rows = 2}),
               InputError);
}

TEST(RelationshipSum, WeightsWithoutBoundsLieOnTheSimplex) {
  const RelationshipSum sum({nd::eye(3, nd::kDouble), nd::ones({3, 3}, nd::kDouble)});
  const Array weights = sum.from_unconstrained(
      nd::tensor({5.0, -40.0, 1.0, 0.0, 0.0, 0.0}, nd::kDouble).view({2, 3}));
  EXPECT_GE(weights.min().item<double>(), 1e-9);
  expect_near(weights.sum(1), nd::ones({2}, nd::kDouble), 1e-8, "sum");
}

TEST(RelationshipSum, RefusesMatricesThatDoNotFit) {
  const Array matrix = nd::eye(3, nd::kDouble);
  EXPECT_THROW(RelationshipSum({}), InputError);
  EXPECT_THROW(RelationshipSum({matrix, nd::eye(4, nd::kDouble)}), InputError);
  EXPECT_THROW(RelationshipSum({matrix}, {.largest_component = 2}), InputError);
  EXPECT_THROW(RelationshipSum({-matrix}), InputError);
  EXPECT_THROW(RelationshipSum({nd::ones({2, 3}, nd::kDouble)}), InputError);
}

TEST(RelationshipSum, SaysAtWhichWeightsItIsNotPositiveDefinite) {
  const RelationshipSum sum({nd::ones({3, 3}, nd::kDouble)});
  try {
    sum.log_det(nd::tensor({0.0, 1.0}, nd::kDouble).unsqueeze(0));
    FAIL() << "accepted";
  } catch (const NumericalError& error) {
    EXPECT_NE(std::string(error.what()).find("0, 1"), std::string::npos);
  }
}

TEST(Unstructured, WithAllParametersZeroIsIndependent) {
  const Unstructured law(6);
  EXPECT_EQ(law.parameter_count(), 21);
  expect_near(law.covariance(nd::zeros({21}, nd::kDouble))[0], nd::eye(6, nd::kDouble),
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
