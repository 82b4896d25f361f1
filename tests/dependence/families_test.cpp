// Sparse relationship matrices: components, equality with the dense matrix, refusals.
#include "kinflow/dependence/families.h"

#include <cmath>

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

TEST(Families, AreTheConnectedComponentsInOrderOfTheirFirstRows) {
  Array matrix = nd::eye(6, nd::kDouble);
  const auto relate = [&](int i, int j) { matrix[i][j] = matrix[j][i] = 0.25; };
  relate(0, 4);
  relate(4, 2);
  relate(1, 5);
  const Families families(oracle::compress(matrix));
  EXPECT_EQ(families.component_count(), 3);
  EXPECT_EQ(families.component_of_row(), (std::vector<std::int64_t>{0, 1, 0, 2, 0, 1}));
  EXPECT_EQ(families.rows_of_largest_component(), 3);
}

TEST(Families, EqualTheDenseRelationshipOnTheBlockMatrix) {
  Random random(81);
  std::vector<Array> blocks;
  for (const std::int64_t m : {5, 1, 300, 2, 2, 9}) {
    const Array factor = oracle::normal({m, m}, random);
    blocks.push_back(nd::mm(factor, factor.t()) / m);
  }
  const Array matrix = oracle::block_diagonal(blocks);
  const std::int64_t n = matrix.size(0);
  const Families sparse(oracle::compress(matrix));
  const Relationship dense(matrix);
  const Array parameters = oracle::uniform({2, 1}, 0.05, 0.95, random);
  const Array latents = oracle::normal({2, n, 3}, random);
  const Array rows = 7 * nd::arange((n + 6) / 7);
  const Array batch = latents.index_select(1, rows);
  expect_near(sparse.log_density(parameters, latents),
              dense.log_density(parameters, latents), 1e-12, "log density");
  expect_near(sparse.precision_times(parameters, latents),
              dense.precision_times(parameters, latents), 1e-11, "C^-1 U");
  expect_near(sparse.parameter_gradient(parameters, latents),
              dense.parameter_gradient(parameters, latents), 1e-11, "gradient");
  expect_near(sparse.pairs_rows(parameters, rows, batch),
              dense.pairs_rows(parameters, rows, batch), 1e-11, "pairs");
  const ConditionalLaw law = sparse.condition(parameters[0], rows, batch[0]);
  const ConditionalLaw expected = dense.condition(parameters[0], rows, batch[0]);
  EXPECT_TRUE(nd::equal(law.rows, expected.rows));
  expect_near(law.mean, expected.mean, 1e-11, "conditional mean");
  expect_near(law.covariance, expected.covariance, 1e-11, "conditional covariance");
}

TEST(Families, ThatLookAlikeShareTheirEigenvalues) {
  const Array siblings =
      0.5 * nd::eye(4, nd::kDouble) + nd::full({4, 4}, 0.5, nd::kDouble);
  const Families families(
      oracle::compress(oracle::block_diagonal({siblings, siblings, siblings})));
  EXPECT_EQ(families.component_count(), 3);
  EXPECT_LE(families.distinct_eigenvalues(), 4);
}

std::string refusal(const CompressedRows& matrix, FamiliesOptions options = {}) {
  try {
    Families families(matrix, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refusal(const CompressedRows& matrix, const std::string& reason,
                    FamiliesOptions options = {}) {
  const std::string message = refusal(matrix, options);
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

TEST(Families, RefuseAMatrixThatIsNotPositiveSemidefiniteAndNameItsRows) {
  Array matrix = nd::eye(5, nd::kDouble);
  matrix[1][3] = matrix[3][1] = 1.5;
  expect_refusal(oracle::compress(matrix),
                 "2 rows (row 2, 4) with smallest eigenvalue -0.5");
}

TEST(Families, RefuseALargeComponentAndSayWhatWouldHelp) {
  const Array matrix = nd::eye(4, nd::kDouble) + nd::full({4, 4}, 0.5, nd::kDouble);
  expect_refusal(oracle::compress(matrix), "at most 3 rows, received one of 4 rows",
                 {.largest_component = 3});
  expect_refusal(oracle::compress(matrix), "low rank", {.largest_component = 3});
}

TEST(Families, RefuseWhatIsNotASymmetricMatrixInCompressedRows) {
  Array matrix = nd::eye(3, nd::kDouble);
  matrix[0][2] = 0.5;
  expect_refusal(oracle::compress(matrix), "0 in row 3, column 1 and 0.5 in row 1");
  matrix[0][2] = std::nan("");
  expect_refusal(oracle::compress(matrix), "nan in row 1, column 3");
  expect_refusal({}, "at least one row");
  expect_refusal({{0, 1}, {1}, {1.0}}, "received 2 in row 1");
  expect_refusal({{0, 2}, {0, 0}, {1.0, 1.0}}, "row 1, column 1 twice");
  expect_refusal({{0, 2, 1}, {0, 1}, {1.0, 1.0}}, "row starts");
  expect_refusal({{0, 2}, {0}, {1.0}}, "row starts");
}

}  // namespace
}  // namespace kinflow
