// Products, solutions and log-determinants by iteration, within the accuracy that they
// report.
#include <cmath>

#include "iterative_matrices.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::whole_numbers;

TEST(IterativeRelationship, SolutionsMatchTheDecomposition) {
  Random random(102);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    ASSERT_LT(law.dominant_subspace().count(), 80) << matrix.name;
    const Array parameters =
        nd::tensor({0.01, 0.2, 0.6, 0.999}, nd::kDouble).unsqueeze(1);
    const Array latents = oracle::normal({4, 300, 3}, random);
    const Array expected = matrix.exact.precision_times(parameters, latents);
    const Array solution = law.precision_times(parameters, latents);
    for (std::int64_t r = 0; r < 4; ++r) {
      expect_near(solution[r], expected[r], 1e-6, matrix.name);
    }
    expect_near(law.quadratic(parameters, latents),
                matrix.exact.quadratic(parameters, latents), 1e-7, matrix.name);
  }
}

TEST(IterativeRelationship, ResidualsAreWithinTheTolerance) {
  Random random(103);
  for (const double tolerance : {1e-4, 1e-8, 1e-11}) {
    const Matrix matrix = named("", slowly_decaying(300, random));
    const IterativeRelationship law = iterated(matrix.values, {.tolerance = tolerance});
    const Array right = oracle::normal({300, 4}, random);
    const Array lambda = nd::tensor({0.02, 0.1, 0.5, 0.9}, nd::kDouble);
    const Solution solution = law.solve(right, lambda, tolerance);
    const Array residual = right - lambda * solution.values -
                           (1 - lambda) * nd::mm(matrix.values, solution.values);
    const double worst = (residual.norm(2, 0) / right.norm(2, 0)).max().item<double>();
    EXPECT_LE(worst, tolerance);
    EXPECT_NEAR(solution.relative_residual, worst, 1e-2 * worst + 1e-15);
    EXPECT_GT(solution.iterations, 1);
  }
}

TEST(IterativeRelationship, EigenvectorsThatStandOutAreFoundToAllDigits) {
  Random random(104);
  const Array matrix = genetic_relationship(300, 400, random);
  const Relationship exact(matrix);
  const IterativeRelationship law = iterated(matrix);
  const DominantSubspace& subspace = law.dominant_subspace();
  ASSERT_GE(subspace.count(), 2);
  expect_near(subspace.values.narrow(0, subspace.count() - 2, 2),
              exact.eigenvalues().narrow(0, 298, 2), 1e-12, "values");
  const Array& vectors = subspace.vectors;
  expect_near(nd::mm(vectors.t(), vectors), nd::eye(subspace.count(), nd::kDouble),
              1e-12, "Q'Q");
  const Array residuals =
      (nd::mm(matrix, vectors) - vectors * subspace.values).norm(2, 0);
  EXPECT_LE((residuals - subspace.residuals).abs().max().item<double>(), 1e-11);
}

TEST(IterativeRelationship, SubspaceMakesSolutionsCheaper) {
  Random random(105);
  const Array matrix = genetic_relationship(300, 2000, random);
  const auto relationship = std::make_shared<DenseRelationshipOperator>(
      matrix +
      1e3 * nd::outer(nd::ones({300}, nd::kDouble), nd::ones({300}, nd::kDouble)));
  const IterativeRelationship with(relationship, {.basis = 80});
  const IterativeRelationship without(relationship, {.basis = 1});
  ASSERT_EQ(without.dominant_subspace().count(), 0);
  const Array right = oracle::normal({300, 1}, random);
  const Array lambda = nd::full({1}, 0.1, nd::kDouble);
  EXPECT_LT(with.solve(right, lambda, 1e-8).iterations,
            without.solve(right, lambda, 1e-8).iterations);
}

TEST(IterativeRelationship, LogDetIsWithinItsReportedBound) {
  int inside = 0, all = 0;
  for (const Matrix& matrix : matrices()) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const IterativeRelationship law = iterated(matrix.values, {.seed = seed});
      for (const double lambda : {1e-3, 0.05, 0.5, 0.95}) {
        const LogDetEstimate estimate = law.log_det_estimate(lambda);
        const double exact = matrix.exact.log_det(share(lambda)).item<double>();
        const double error = std::abs(estimate.value - exact);
        // Few distinct eigenvalues leave nothing to estimate.
        if (estimate.error > 1e-6) {
          ++all;
          if (error <= estimate.error) ++inside;
        }
        EXPECT_LE(error, 3 * estimate.error + 1e-9)
            << matrix.name << ", seed " << seed << ", lambda " << lambda;
        EXPECT_DOUBLE_EQ(law.log_det(share(lambda)).item<double>(), estimate.value);
      }
    }
  }
  EXPECT_GE(inside, 9 * all / 10) << inside << " of " << all;
}

TEST(IterativeRelationship, MoreProbesGiveASmallerError) {
  Random random(106);
  const Array matrix = genetic_relationship(300, 400, random);
  const double few = iterated(matrix, {.probes = 8}).log_det_estimate(0.1).error;
  const double many = iterated(matrix, {.probes = 128}).log_det_estimate(0.1).error;
  EXPECT_LT(many, 0.6 * few);
}

TEST(IterativeRelationship, AccuracyIsThatOfTheResults) {
  const IterativeRelationship law = iterated(chain(300), {.tolerance = 1e-6});
  const IterativeAccuracy accuracy = law.accuracy(0.25);
  const LogDetEstimate estimate = law.log_det_estimate(0.25);
  EXPECT_EQ(accuracy.log_det.value, estimate.value);
  EXPECT_EQ(accuracy.log_det.error, estimate.error);
  EXPECT_GE(estimate.error, estimate.probe_error + estimate.quadrature_error);
  EXPECT_EQ(accuracy.rows, 300);
  EXPECT_EQ(accuracy.probes, 32);
  const std::string text = accuracy.text();
  EXPECT_NE(text.find("lambda = 0.25"), std::string::npos) << text;
  EXPECT_NE(text.find("95%, 32 probes"), std::string::npos) << text;
  EXPECT_NE(text.find("relative residual 1e-06"), std::string::npos) << text;
}

TEST(LanczosQuadrature, EnclosesTheLogarithmAlsoOfASingularMatrix) {
  // Half of the eigenvalues are 0, and the recursions find that to the last digits.
  Random random(123);
  const auto [directions, triangle] = nd::linalg_qr(oracle::normal({200, 100}, random));
  const Array values = oracle::uniform({100}, 3, 6, random);
  const DenseRelationshipOperator relationship(
      nd::mm(directions * values, directions.t()));
  const DominantSubspace nothing{nd::empty({200, 0}, nd::kDouble),
                                 nd::empty({0}, nd::kDouble),
                                 nd::empty({0}, nd::kDouble), 2};
  const Array starts = oracle::normal({200, 100}, random);
  const Array along = nd::mm(directions.t(), starts).square();
  const double lambda = 0.01;
  const Array outside = starts.square().sum(0) - along.sum(0);
  const Array exact = nd::mv(along.t(), (lambda + (1 - lambda) * values).log()) +
                      outside * std::log(lambda);
  LanczosQuadrature lanczos(relationship, nothing, starts);
  const auto form = [&](const SpectralMeasures& measures) {
    return (measures.weights * (lambda + (1 - lambda) * measures.nodes).log()).sum(1);
  };
  for (int look = 0; look < 40; ++look) {
    lanczos.advance(1);
    const Array rounding = 1e-9 * exact.abs();
    EXPECT_TRUE((form(lanczos.gauss()) >= exact - rounding).all().item<bool>())
        << lanczos.steps() << " steps";
    EXPECT_TRUE((form(lanczos.radau()) <= exact + rounding).all().item<bool>())
        << lanczos.steps() << " steps";
  }
  EXPECT_LE((form(lanczos.gauss()) - exact).abs().max().item<double>(), 1e-6);
  EXPECT_LE((form(lanczos.radau()) - exact).abs().max().item<double>(), 1e-6);
}

TEST(IterativeRelationship, FewQuadratureStepsAreSeenInTheError) {
  Random random(107);
  const Matrix matrix = named("", slowly_decaying(300, random));
  const IterativeRelationship law = iterated(matrix.values, {.quadrature_steps = 2});
  for (const double lambda : {1e-3, 0.05, 0.5}) {
    const LogDetEstimate estimate = law.log_det_estimate(lambda);
    EXPECT_NEAR(estimate.value, matrix.exact.log_det(share(lambda)).item<double>(),
                estimate.error);
  }
}

TEST(IterativeRelationship, SparseAndDenseOperatorsAgree) {
  Random random(115);
  const Array matrix = chain(300);
  const auto sparse =
      std::make_shared<SparseRelationshipOperator>(oracle::compress(matrix));
  const DenseRelationshipOperator dense(matrix);
  const Array right = oracle::normal({300, 5}, random);
  const Array some = whole_numbers({299, 3, 18}), others = whole_numbers({2, 1});
  expect_near(sparse->times(right), dense.times(right), 1e-14, "product");
  expect_near(sparse->block(some, others), dense.block(some, others), 0, "block");
  EXPECT_NEAR(sparse->trace(), dense.trace(), 1e-11);
  EXPECT_NEAR(sparse->sum_of_squares(), dense.sum_of_squares(), 1e-11);
  const IterativeRelationship of_sparse(sparse, {.basis = 80});
  const Relationship exact(matrix);
  const Array latents = oracle::normal({2, 300, 2}, random);
  const Array parameters = nd::tensor({0.1, 0.6}, nd::kDouble).unsqueeze(1);
  expect_near(of_sparse.precision_times(parameters, latents),
              exact.precision_times(parameters, latents), 1e-7, "C^-1 U");
}

TEST(IterativeRelationship, Float32StorageIsMultipliedInFloat64) {
  Random random(116);
  const Array matrix = genetic_relationship(1500, 1000, random).to(nd::kFloat);
  const Array stored = matrix.to(nd::kDouble);
  const DenseRelationshipOperator single(matrix), twice(stored);
  const Array right = oracle::normal({1500, 3}, random);
  expect_near(single.times(right), twice.times(right), 1e-13, "product");
  EXPECT_NEAR(single.sum_of_squares(), twice.sum_of_squares(), 1e-6);
  EXPECT_NEAR(single.trace(), twice.trace(), 1e-9);
}

TEST(IterativeRelationship, NoConvergenceIsAnErrorThatSaysWhatToDo) {
  Random random(121);
  const IterativeRelationship law =
      iterated(genetic_relationship(300, 150, random), {.max_iterations = 12});
  const Array latents = oracle::normal({1, 300, 1}, random);
  EXPECT_NO_THROW(law.precision_times(share(0.9), latents));
  try {
    law.precision_times(share(1e-4), latents);
    FAIL() << "converged";
  } catch (const NumericalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("lambda = 0.0001"), std::string::npos) << text;
    EXPECT_NE(text.find("after 12 iterations"), std::string::npos) << text;
    EXPECT_NE(text.find("allow more iterations"), std::string::npos) << text;
  }
  EXPECT_THROW(law.sample(share(1e-4)[0], 1, random), NumericalError);
  EXPECT_THROW(
      law.pairs_rows(share(1e-4), whole_numbers({1, 2}), latents.narrow(1, 0, 2)),
      NumericalError);
}

TEST(IterativeRelationship, EndsOfTheRangeAreFinite) {
  Random random(122);
  const Array matrix = genetic_relationship(300, 3000, random);
  const IterativeRelationship law = iterated(matrix);
  const Relationship exact(matrix);
  const Array latents = oracle::normal({1, 300, 2}, random);
  for (const double lambda : {1e-6, 1 - 1e-9}) {
    expect_near(law.precision_times(share(lambda), latents),
                exact.precision_times(share(lambda), latents), 1e-6, "C^-1 U");
    expect_near(law.parameter_gradient(share(lambda), latents) -
                    law.parameter_gradient(share(lambda), 0 * latents),
                exact.parameter_gradient(share(lambda), latents) -
                    exact.parameter_gradient(share(lambda), 0 * latents),
                1e-6, "gradient");
  }
}

TEST(IterativeRelationship, RefusesWhatIsNotARelationship) {
  Array matrix = chain(300);
  matrix[3][200] = matrix[200][3] = 40;
  EXPECT_THROW(iterated(matrix), InputError);
  EXPECT_THROW(iterated(chain(30) - 2 * nd::eye(30, nd::kDouble)), InputError);
  matrix[3][200] = 0.5;
  try {
    DenseRelationshipOperator{matrix};
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("0.5 in row 4, column 201 and 40 in row 201, column 4"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(SparseRelationshipOperator(oracle::compress(matrix)), InputError);
  EXPECT_THROW(DenseRelationshipOperator(nd::zeros({3, 2}, nd::kDouble)), InputError);
  EXPECT_THROW(DenseRelationshipOperator(nd::zeros({3, 3}, nd::kLong)), InputError);
  EXPECT_THROW(DenseRelationshipOperator(nd::full({3, 3}, std::nan(""), nd::kDouble)),
               InputError);
  const CompressedRows one_sided{{0, 2, 3}, {0, 1, 1}, {1, 0.5, 1}};
  EXPECT_THROW(SparseRelationshipOperator{one_sided}, InputError);
  const CompressedRows repeated{{0, 2, 3}, {0, 0, 1}, {1, 1, 1}};
  EXPECT_THROW(SparseRelationshipOperator{repeated}, InputError);
  EXPECT_THROW(iterated(chain(30), {.probes = 2}), InputError);
}

}  // namespace
}  // namespace kinflow
