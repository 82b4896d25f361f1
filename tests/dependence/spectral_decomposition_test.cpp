// Dense decompositions: what they take, what they refuse, and what they give.
#include "kinflow/dependence/spectral_decomposition.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kinflow/array/array.h"
#include "tests/data/helpers.h"
#include "tests/dependence/problems.h"

namespace kinflow {
namespace {

Array random_relationship(std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  const Array factor = nd::empty({rows, rows}, nd::kDouble);
  for (std::int64_t i = 0; i < factor.numel(); ++i) {
    factor.data_ptr<double>()[i] = random.normal();
  }
  return nd::mm(factor, factor.t()) / static_cast<double>(rows);
}

TEST(SpectralDecomposition, GivesBackTheMatrixFromOrthogonalVectors) {
  // More rows than one tile of the check has.
  const Array matrix = random_relationship(150, 1);
  const auto parts = decompose_relationship(matrix);
  const Array& basis = parts.eigenvectors;
  const Array again = nd::mm(basis * parts.eigenvalues, basis.t());
  EXPECT_LT((again - matrix).abs().max().item<double>(), 1e-12);
  const Array identity = nd::eye(150, nd::kDouble);
  EXPECT_LT((nd::mm(basis.t(), basis) - identity).abs().max().item<double>(), 1e-12);
  EXPECT_TRUE((parts.eigenvalues.diff() >= 0).all().item<bool>());
}

TEST(SpectralDecomposition, TheWorstPlaceOfALargeMatrixIsNamed) {
  Array matrix = random_relationship(150, 2);
  matrix[3][140] = 7.0;
  matrix[140][3] = 9.0;
  matrix[99][70] = 0.5;
  matrix[70][99] = 0.0;
  EXPECT_EQ(input_error_of([&] { decompose_relationship(matrix); }),
            "[Relationship] expected a symmetric matrix, received 7 in row 4, column "
            "141 and 9 in row 141, column 4");
  for (const auto& [row, column] : {std::pair{20, 130}, std::pair{130, 20}}) {
    Array broken = random_relationship(150, 2);
    broken[row][column] = std::numeric_limits<double>::infinity();
    EXPECT_EQ(
        input_error_of([&] { decompose_relationship(broken); }),
        fmt::format("[Relationship] expected finite numbers, received inf in row {}, "
                    "column {}",
                    row + 1, column + 1));
  }
}

TEST(SpectralDecomposition, DefinitenessIsDecidedAsTheDecompositionDoes) {
  const Array good = random_relationship(80, 3);
  const double smallest = decompose_relationship(good).eigenvalues[0].item<double>();
  const Array lowered = good - (smallest + 0.01) * nd::eye(80, nd::kDouble);
  EXPECT_EQ(input_error_of([&] { decompose_relationship(lowered); }),
            "[Relationship] expected a positive semidefinite matrix, received one that "
            "is not positive semidefinite: smallest eigenvalue -0.01");
  // Singular matrices pass, also where rounding makes a Cholesky factor fail.
  const Array singular = nd::ones({80, 80}, nd::kDouble);
  EXPECT_FALSE(find_indefinite(nd::stack({good, singular})));
  const auto wrong = find_indefinite(nd::stack({good, lowered, singular}));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->place, 1);
  EXPECT_NEAR(wrong->eigenvalue, -0.01, 1e-12);
}

TEST(SpectralDecomposition, WhatCannotFitIsRefusedWithWhatNeedsLess) {
  const TemporaryFolder machine;
  machine.write("meminfo", "MemAvailable: 2000000 kB\n");
  const MemorySources sources{.processes = machine.path(), .control_groups = "/none"};
  EXPECT_NO_THROW(require_decomposable(9'000, sources));
  const std::string advice =
      "; what needs less: --solver iterative (conjugate gradients; the matrix alone), "
      "--sparsify T (families), --relationship-pcs FILE (low rank)";
  EXPECT_EQ(
      input_error_of([&] { require_decomposable(20'000, sources); }),
      "[Relationship] expected 9.6 GB of memory for the spectral decomposition of "
      "a matrix of 20000 rows, found 2.0 GB" +
          advice);
  EXPECT_EQ(input_error_of([&] { require_decomposable(32'767, sources); }),
            "[Relationship] expected at most 32,766 rows in a dense matrix, received "
            "32767" +
                advice);
  // No memory is spent on a view that repeats one number.
  const Array huge = nd::ones({1, 1}, nd::kDouble).expand({32'767, 32'767});
  EXPECT_EQ(input_error_of([&] { check_relationship(huge); }),
            "[Relationship] expected at most 32,766 rows in a dense matrix, received "
            "32767" +
                advice);
}

TEST(SpectralDecomposition, ExpectedSecondsGrowWithTheRows) {
  const double few = expected_decomposition_seconds(1000);
  EXPECT_GT(few, 0);
  // A million times as many, whatever else the machine does in between.
  const double many = expected_decomposition_seconds(100'000);
  EXPECT_GT(many, few);
  EXPECT_TRUE(std::isfinite(many));
}

}  // namespace
}  // namespace kinflow
