// Relationships that are, and are not, positive semidefinite.
#include "kinflow/genetics/relationship_eigen.h"

#include <gtest/gtest.h>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

/// Three pairs; the entry within a pair decides about its eigenvalues 1 + r and 1 - r.
std::vector<double> pairs(double r) {
  std::vector<double> matrix(36, 0.0);
  for (std::size_t i = 0; i < 6; ++i) {
    matrix[i * 6 + i] = 1;
    matrix[i * 6 + (i ^ 1)] = r;
  }
  return matrix;
}

TEST(RequireSemidefinite, NamesTheFileAndTheEigenvalues) {
  require_semidefinite(pairs(0.5), 6, "k.txt");
  require_semidefinite(pairs(1), 6, "k.txt");
  require_semidefinite(pairs(1.001), 6, "k.txt");
  const auto message =
      input_error_of([] { require_semidefinite(pairs(1.5), 6, "k.txt"); });
  EXPECT_EQ(message,
            "k.txt: expected a positive semidefinite relationship, found eigenvalues "
            "from -0.5 to 2.5");
}

TEST(ClipNegativeEigenvalues, LeavesGoodMatricesAlone) {
  for (const double r : {0.5, 1.0, 1 + 1e-9}) {
    auto matrix = pairs(r);
    EXPECT_FALSE(clip_negative_eigenvalues(matrix, 6).has_value()) << r;
    EXPECT_EQ(matrix, pairs(r)) << r;
  }
}

TEST(ClipNegativeEigenvalues, GivesTheNearestSemidefiniteMatrix) {
  auto matrix = pairs(1.2);
  const auto smallest = clip_negative_eigenvalues(matrix, 6);
  ASSERT_TRUE(smallest.has_value());
  EXPECT_NEAR(*smallest, -0.2, 1e-12);
  // Of the eigenvalues 2.2 and -0.2 the first is left: all entries of a pair are 1.1.
  for (std::size_t i = 0; i < 36; ++i) {
    EXPECT_NEAR(matrix[i], i / 6 / 2 == i % 6 / 2 ? 1.1 : 0, 1e-12) << i;
  }
}

}  // namespace
}  // namespace kinflow
