// Relationship matrices that are only multiplied, against the dense oracle at the
// accuracy that they report, where iterations do the work.
#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "oracle.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::whole_numbers;

/// A kind of matrix, and its spectral decomposition as the oracle.
struct Matrix {
  std::string name;
  at::Tensor values;  // [n, n]
  Relationship exact;
};

Matrix named(const std::string& name, const at::Tensor& values) {
  return {name, values, Relationship(values)};
}

/// Z Z'/m of markers whose frequencies differ between three populations, 0.1 per
/// marker: two large eigenvalues, and a bulk from rounding up to about 4.
at::Tensor genetic_relationship(std::int64_t n, std::int64_t markers, Random& random) {
  const at::Tensor population = at::arange(n, at::kLong).remainder(3);
  const at::Tensor shift = 0.3 * oracle::normal({3, markers}, random);
  const at::Tensor scores =
      oracle::normal({n, markers}, random) + shift.index_select(0, population);
  const at::Tensor centred = scores - scores.mean(0, /*keepdim=*/true);
  return at::mm(centred, centred.t()) / static_cast<double>(markers);
}

/// Eigenvalues like n/(4 j), in random directions.
at::Tensor slowly_decaying(std::int64_t n, Random& random) {
  const auto [directions, triangle] = at::linalg_qr(oracle::normal({n, n}, random));
  const at::Tensor values =
      static_cast<double>(n) / 4 / at::arange(1, n + 1, at::kDouble);
  return at::mm(directions * values, directions.t());
}

/// Rows in a chain with correlation 0.5 between neighbours, and 0.2 between rows that
/// are 17 apart: one sparse component.
at::Tensor chain(std::int64_t n) {
  at::Tensor lower = at::eye(n, at::kDouble);
  lower.diagonal(-1).fill_(0.6);
  lower.diagonal(-17).fill_(0.2);
  return at::mm(lower, lower.t()) / 1.4;
}

/// Families of four siblings: two distinct eigenvalues, each many times.
at::Tensor siblings(std::int64_t n) {
  const at::Tensor family = 0.5 * (at::eye(4, at::kDouble) + 1);
  return at::kron(at::eye(n / 4, at::kDouble), family);
}

at::Tensor low_rank(std::int64_t n, std::int64_t rank, Random& random) {
  const at::Tensor factor = oracle::normal({n, rank}, random);
  return at::mm(factor, factor.t()) / static_cast<double>(rank);
}

std::vector<Matrix> matrices() {
  Random random(101);
  return {named("low rank", low_rank(300, 20, random)),
          named("genetic", genetic_relationship(300, 400, random)),
          named("genetic, singular", genetic_relationship(300, 150, random)),
          named("slowly decaying", slowly_decaying(300, random)),
          named("chain", chain(300)),
          named("siblings", siblings(300)),
          named("identity", at::eye(300, at::kDouble))};
}

/// A law that cannot decompose its matrix: a space of 80 dimensions is searched.
IterativeRelationship iterated(const at::Tensor& matrix,
                               IterativeRelationshipOptions options = {}) {
  options.basis = 80;
  return IterativeRelationship(std::make_shared<DenseRelationshipOperator>(matrix),
                               options);
}

at::Tensor share(double lambda) { return at::full({1, 1}, lambda, at::kDouble); }

TEST(IterativeRelationship, SolutionsMatchTheDecomposition) {
  Random random(102);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    ASSERT_LT(law.dominant_subspace().count(), 80) << matrix.name;
    const at::Tensor parameters =
        at::tensor({0.01, 0.2, 0.6, 0.999}, at::kDouble).unsqueeze(1);
    const at::Tensor latents = oracle::normal({4, 300, 3}, random);
    const at::Tensor expected = matrix.exact.precision_times(parameters, latents);
    const at::Tensor solution = law.precision_times(parameters, latents);
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
    const at::Tensor right = oracle::normal({300, 4}, random);
    const at::Tensor lambda = at::tensor({0.02, 0.1, 0.5, 0.9}, at::kDouble);
    const Solution solution = law.solve(right, lambda, tolerance);
    const at::Tensor residual = right - lambda * solution.values -
                                (1 - lambda) * at::mm(matrix.values, solution.values);
    const double worst = (residual.norm(2, 0) / right.norm(2, 0)).max().item<double>();
    EXPECT_LE(worst, tolerance);
    EXPECT_NEAR(solution.relative_residual, worst, 1e-2 * worst + 1e-15);
    EXPECT_GT(solution.iterations, 1);
  }
}

TEST(IterativeRelationship, EigenvectorsThatStandOutAreFoundToAllDigits) {
  Random random(104);
  const at::Tensor matrix = genetic_relationship(300, 400, random);
  const Relationship exact(matrix);
  const IterativeRelationship law = iterated(matrix);
  const DominantSubspace& subspace = law.dominant_subspace();
  ASSERT_GE(subspace.count(), 2);
  expect_near(subspace.values.narrow(0, subspace.count() - 2, 2),
              exact.eigenvalues().narrow(0, 298, 2), 1e-12, "values");
  const at::Tensor& vectors = subspace.vectors;
  expect_near(at::mm(vectors.t(), vectors), at::eye(subspace.count(), at::kDouble),
              1e-12, "Q'Q");
  const at::Tensor residuals =
      (at::mm(matrix, vectors) - vectors * subspace.values).norm(2, 0);
  EXPECT_LE((residuals - subspace.residuals).abs().max().item<double>(), 1e-11);
}

TEST(IterativeRelationship, SubspaceMakesSolutionsCheaper) {
  Random random(105);
  const at::Tensor matrix = genetic_relationship(300, 2000, random);
  const auto relationship = std::make_shared<DenseRelationshipOperator>(
      matrix +
      1e3 * at::outer(at::ones({300}, at::kDouble), at::ones({300}, at::kDouble)));
  const IterativeRelationship with(relationship, {.basis = 80});
  const IterativeRelationship without(relationship, {.basis = 1});
  ASSERT_EQ(without.dominant_subspace().count(), 0);
  const at::Tensor right = oracle::normal({300, 1}, random);
  const at::Tensor lambda = at::full({1}, 0.1, at::kDouble);
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
  const at::Tensor matrix = genetic_relationship(300, 400, random);
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
  const auto [directions, triangle] = at::linalg_qr(oracle::normal({200, 100}, random));
  const at::Tensor values = oracle::uniform({100}, 3, 6, random);
  const DenseRelationshipOperator relationship(
      at::mm(directions * values, directions.t()));
  const DominantSubspace nothing{at::empty({200, 0}, at::kDouble),
                                 at::empty({0}, at::kDouble),
                                 at::empty({0}, at::kDouble), 2};
  const at::Tensor starts = oracle::normal({200, 100}, random);
  const at::Tensor along = at::mm(directions.t(), starts).square();
  const double lambda = 0.01;
  const at::Tensor outside = starts.square().sum(0) - along.sum(0);
  const at::Tensor exact = at::mv(along.t(), (lambda + (1 - lambda) * values).log()) +
                           outside * std::log(lambda);
  LanczosQuadrature lanczos(relationship, nothing, starts);
  const auto form = [&](const SpectralMeasures& measures) {
    return (measures.weights * (lambda + (1 - lambda) * measures.nodes).log()).sum(1);
  };
  for (int look = 0; look < 40; ++look) {
    lanczos.advance(1);
    const at::Tensor rounding = 1e-9 * exact.abs();
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

TEST(IterativeRelationship, GradientIsThatOfTheEstimatedObjective) {
  Random random(108);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values, {.tolerance = 1e-11});
    const at::Tensor parameters =
        at::tensor({0.05, 0.4, 0.8}, at::kDouble).unsqueeze(1);
    const at::Tensor latents = oracle::normal({3, 300, 2}, random);
    const double step = 1e-3;
    const auto change = [&](double by) {
      return law.objective(parameters + by, latents) -
             law.objective(parameters - by, latents);
    };
    const at::Tensor expected = (8 * change(step) - change(2 * step)) / (12 * step);
    expect_near(law.parameter_gradient(parameters, latents).squeeze(1), expected, 1e-6,
                matrix.name);
  }
}

TEST(IterativeRelationship, GradientIsNearTheExactOne) {
  Random random(109);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    for (const double lambda : {0.05, 0.4, 0.8}) {
      Random draws(110);
      const at::Tensor latents = matrix.exact.sample(share(lambda)[0], 4, draws);
      const at::Tensor actual =
          law.parameter_gradient(share(lambda), latents.unsqueeze(0));
      const at::Tensor expected =
          matrix.exact.parameter_gradient(share(lambda), latents.unsqueeze(0));
      // The derivative of log det C is off by what the bound allows on the logit's
      // scale, where log det C bends little.
      const double bound =
          4 * law.log_det_estimate(lambda).error / (lambda * (1 - lambda)) +
          1e-8 * std::abs(expected.item<double>());
      EXPECT_NEAR(actual.item<double>(), expected.item<double>(), bound)
          << matrix.name << ", lambda " << lambda;
    }
  }
}

TEST(IterativeRelationship, PairsMatchTheDecomposition) {
  Random random(111);
  const at::Tensor rows = whole_numbers({4, 299, 17, 120, 121, 0, 34});
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const at::Tensor parameters = at::tensor({0.05, 0.7}, at::kDouble).unsqueeze(1);
    const at::Tensor batch = oracle::normal({2, 7, 3}, random);
    expect_near(law.pairs_rows(parameters, rows, batch),
                matrix.exact.pairs_rows(parameters, rows, batch), 1e-6, matrix.name);
    // Without the log-determinant's part, which is an estimate here.
    const auto trace_part = [&](const Dependence& of) {
      return of.pairs_parameter_gradient(parameters, rows, batch) -
             of.parameter_gradient(parameters, at::zeros({2, 300, 3}, at::kDouble));
    };
    expect_near(trace_part(law), trace_part(matrix.exact), 1e-6, matrix.name);
  }
}

TEST(IterativeRelationship, ConditionMatchesTheDecomposition) {
  Random random(112);
  const at::Tensor order = whole_numbers(random.permutation(300));
  const at::Tensor observed = order.narrow(0, 0, 260);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const at::Tensor latents = oracle::normal({260, 2}, random);
    const at::Tensor parameters = share(0.2)[0];
    const ConditionalLaw actual = law.condition(parameters, observed, latents);
    const ConditionalLaw expected =
        matrix.exact.condition(parameters, observed, latents);
    EXPECT_TRUE(at::equal(actual.rows, expected.rows));
    expect_near(actual.mean, expected.mean, 1e-6, matrix.name);
    expect_near(actual.covariance, expected.covariance, 1e-6, matrix.name);
  }
}

TEST(IterativeRelationship, ConditionRowsMatchTheDecomposition) {
  // 270 rows are unknown, more than one panel.
  Random random(113);
  const at::Tensor observed = whole_numbers(random.permutation(300)).narrow(0, 0, 30);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const at::Tensor latents = oracle::normal({30, 2}, random);
    const at::Tensor parameters = share(0.2)[0];
    const ConditionalRows actual = law.condition_rows(parameters, observed, latents);
    const ConditionalLaw expected =
        matrix.exact.condition(parameters, observed, latents);
    EXPECT_TRUE(at::equal(actual.rows, expected.rows));
    expect_near(actual.mean, expected.mean, 1e-6, matrix.name);
    expect_near(actual.variance, expected.covariance.diagonal(), 1e-6, matrix.name);
  }
}

/// Mean squares of draws along the eigenvectors, in units of the law's: all near 1.
void expect_variances(const Relationship& exact, double lambda, const at::Tensor& draws,
                      const std::string& what) {
  const at::Tensor squares = at::mm(exact.eigenvectors().t(), draws).square().mean(1) /
                             (lambda + (1 - lambda) * exact.eigenvalues());
  const double error = std::sqrt(2.0 / static_cast<double>(draws.size(1)));
  EXPECT_LE((squares - 1).abs().max().item<double>(), 5 * error) << what;
}

TEST(IterativeRelationship, DrawsHaveTheVarianceOfTheLawInEveryDirection) {
  for (const Matrix& matrix : matrices()) {
    for (const double lambda : {0.1, 0.5}) {
      Random random(113);
      const at::Tensor draws =
          iterated(matrix.values).sample(share(lambda)[0], 400, random);
      expect_variances(matrix.exact, lambda, draws, matrix.name);
    }
  }
}

TEST(IterativeRelationship, DrawsGivenRowsKeepThemAndHaveTheConditionalVariances) {
  Random random(114);
  const at::Tensor observed = at::arange(0, 250, at::kLong);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const at::Tensor latents = oracle::normal({250, 1}, random).expand({250, 400});
    const at::Tensor draws = law.sample_given(share(0.3)[0], observed, latents, random);
    EXPECT_TRUE(at::equal(draws.narrow(0, 0, 250), latents)) << matrix.name;
    const ConditionalLaw expected =
        matrix.exact.condition(share(0.3)[0], observed, latents.narrow(1, 0, 1));
    const at::Tensor errors = draws.narrow(0, 250, 50) - expected.mean;
    const at::Tensor whitened = at::linalg_solve_triangular(
        at::linalg_cholesky(expected.covariance), errors, /*upper=*/false);
    const at::Tensor covariance = at::mm(whitened, whitened.t()) / 400;
    EXPECT_LE((covariance - at::eye(50, at::kDouble)).abs().max().item<double>(),
              5 * std::sqrt(2.0 / 400))
        << matrix.name;
  }
}

TEST(IterativeRelationship, SparseAndDenseOperatorsAgree) {
  Random random(115);
  const at::Tensor matrix = chain(300);
  const auto sparse =
      std::make_shared<SparseRelationshipOperator>(oracle::compress(matrix));
  const DenseRelationshipOperator dense(matrix);
  const at::Tensor right = oracle::normal({300, 5}, random);
  const at::Tensor some = whole_numbers({299, 3, 18}), others = whole_numbers({2, 1});
  expect_near(sparse->times(right), dense.times(right), 1e-14, "product");
  expect_near(sparse->block(some, others), dense.block(some, others), 0, "block");
  EXPECT_NEAR(sparse->trace(), dense.trace(), 1e-11);
  EXPECT_NEAR(sparse->sum_of_squares(), dense.sum_of_squares(), 1e-11);
  const IterativeRelationship of_sparse(sparse, {.basis = 80});
  const Relationship exact(matrix);
  const at::Tensor latents = oracle::normal({2, 300, 2}, random);
  const at::Tensor parameters = at::tensor({0.1, 0.6}, at::kDouble).unsqueeze(1);
  expect_near(of_sparse.precision_times(parameters, latents),
              exact.precision_times(parameters, latents), 1e-7, "C^-1 U");
}

TEST(IterativeRelationship, Float32StorageIsMultipliedInFloat64) {
  Random random(116);
  const at::Tensor matrix = genetic_relationship(1500, 1000, random).to(at::kFloat);
  const at::Tensor stored = matrix.to(at::kDouble);
  const DenseRelationshipOperator single(matrix), twice(stored);
  const at::Tensor right = oracle::normal({1500, 3}, random);
  expect_near(single.times(right), twice.times(right), 1e-13, "product");
  EXPECT_NEAR(single.sum_of_squares(), twice.sum_of_squares(), 1e-6);
  EXPECT_NEAR(single.trace(), twice.trace(), 1e-9);
}

TEST(IterativeRelationship, MemoryEqualsTheFullComputationWhenItHasSolved) {
  Random random(117);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law =
        iterated(matrix.values, {.memory_share = 0, .memory_logit = 0});
    at::Tensor latents = oracle::normal({2, 300, 2}, random);
    at::Tensor parameters = at::tensor({0.1, 0.6}, at::kDouble).unsqueeze(1);
    const auto memory = law.make_memory();
    memory->reset(latents);
    for (int step = 0; step < 3; ++step) {
      const at::Tensor rows = whole_numbers(random.permutation(300)).narrow(0, 0, 20);
      const at::Tensor fresh = oracle::normal({2, 20, 2}, random);
      latents = latents.index_copy(1, rows, fresh);
      memory->update(rows, fresh);
      parameters = parameters * 1.1;
      expect_near(memory->precision_rows(parameters, rows),
                  law.precision_times(parameters, latents).index_select(1, rows), 1e-6,
                  matrix.name);
      expect_near(memory->parameter_gradient(parameters),
                  law.parameter_gradient(parameters, latents), 1e-6, matrix.name);
    }
  }
}

/// The gradient's part that depends on the latents: that of log det C is an estimate.
at::Tensor trace_part(const Dependence& law, const at::Tensor& gradient,
                      const at::Tensor& parameters) {
  return gradient -
         law.parameter_gradient(
             parameters, at::zeros({parameters.size(0), law.rows(), 2}, at::kDouble));
}

TEST(IterativeRelationship, MemoryFollowsChangedRowsBetweenSolutions) {
  Random random(118);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values, {.memory_share = 1});
    const at::Tensor before = oracle::normal({2, 300, 2}, random);
    const at::Tensor parameters = at::tensor({0.3, 0.6}, at::kDouble).unsqueeze(1);
    const auto memory = law.make_memory();
    memory->reset(before);
    memory->precision_rows(parameters, whole_numbers({0}));
    const at::Tensor rows = whole_numbers(random.permutation(300)).narrow(0, 0, 60);
    const at::Tensor fresh =
        0.7 * before.index_select(1, rows) + 0.2 * oracle::normal({2, 60, 2}, random);
    const at::Tensor after = before.index_copy(1, rows, fresh);
    memory->update(rows.narrow(0, 0, 25), fresh.narrow(1, 0, 25));
    memory->update(rows.narrow(0, 25, 35), fresh.narrow(1, 25, 35));
    const at::Tensor stale = matrix.exact.precision_times(parameters, before);
    const at::Tensor expected = matrix.exact.precision_times(parameters, after);
    const at::Tensor followed = memory->precision_rows(parameters, rows);
    EXPECT_LE((followed - expected.index_select(1, rows)).norm().item<double>(),
              0.6 * (stale - expected).index_select(1, rows).norm().item<double>())
        << matrix.name;
    const auto exact_part = [&](const at::Tensor& latents) {
      return trace_part(matrix.exact,
                        matrix.exact.parameter_gradient(parameters, latents),
                        parameters);
    };
    const at::Tensor part =
        trace_part(law, memory->parameter_gradient(parameters), parameters);
    EXPECT_LE((part - exact_part(after)).norm().item<double>(),
              0.6 * (exact_part(before) - exact_part(after)).norm().item<double>())
        << matrix.name;
  }
}

TEST(IterativeRelationship, MemoryFollowsLambdaBetweenSolutions) {
  Random random(128);
  const at::Tensor all = at::arange(300, at::kLong);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values, {.memory_logit = 1});
    const at::Tensor latents = oracle::normal({2, 300, 2}, random);
    const at::Tensor parameters = at::tensor({0.3, 0.6}, at::kDouble).unsqueeze(1);
    const at::Tensor moved = parameters + 0.02;
    const auto memory = law.make_memory();
    memory->reset(latents);
    memory->precision_rows(parameters, all);
    const at::Tensor stale = matrix.exact.precision_times(parameters, latents);
    const at::Tensor expected = matrix.exact.precision_times(moved, latents);
    EXPECT_LE((memory->precision_rows(moved, all) - expected).norm().item<double>(),
              0.15 * (stale - expected).norm().item<double>())
        << matrix.name;
    const auto exact_part = [&](const at::Tensor& at_lambda) {
      return trace_part(matrix.exact,
                        matrix.exact.parameter_gradient(at_lambda, latents), at_lambda);
    };
    EXPECT_LE(
        (trace_part(law, memory->parameter_gradient(moved), moved) - exact_part(moved))
            .norm()
            .item<double>(),
        0.15 * (exact_part(parameters) - exact_part(moved)).norm().item<double>())
        << matrix.name;
  }
}

TEST(IterativeRelationship, MemoryIsItsLatentsAlone) {
  Random random(119);
  const IterativeRelationship law = iterated(chain(300));
  const at::Tensor parameters = share(0.3), all = at::arange(300, at::kLong);
  const auto memory = law.make_memory();
  memory->reset(oracle::normal({1, 300, 2}, random));
  memory->precision_rows(parameters, all);
  memory->update(all.narrow(0, 0, 150), oracle::normal({1, 150, 2}, random));
  memory->precision_rows(parameters, all);
  memory->reset(memory->latents());
  const auto another = law.make_memory();
  another->reset(memory->latents());
  EXPECT_TRUE(at::equal(memory->precision_rows(parameters, all),
                        another->precision_rows(parameters, all)));
  EXPECT_TRUE(at::equal(memory->parameter_gradient(parameters),
                        another->parameter_gradient(parameters)));
}

TEST(IterativeRelationship, MostLikelyLambdaIsThatOfTheDecomposition) {
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    Random random(120);
    const at::Tensor latents =
        matrix.exact.sample(share(0.4)[0], 5, random).unsqueeze(0);
    const at::Tensor start = share(0.5);
    const double exact = matrix.exact.most_likely(latents, start, 0).item<double>();
    const double found = law.most_likely(latents, start, 0).item<double>();
    EXPECT_NEAR(found, exact, 0.02) << matrix.name;
    // The terms are the objective, for every lambda.
    const std::vector<SpectralTerm> terms = law.likelihood_terms(latents[0]);
    for (const double lambda : {0.01, 0.3, 0.9}) {
      const double objective = law.objective(share(lambda), latents).item<double>();
      EXPECT_NEAR(spectral_objective(terms, 5, lambda).value, objective,
                  1e-5 * std::abs(objective))
          << matrix.name;
    }
  }
}

TEST(IterativeRelationship, NoConvergenceIsAnErrorThatSaysWhatToDo) {
  Random random(121);
  const IterativeRelationship law =
      iterated(genetic_relationship(300, 150, random), {.max_iterations = 12});
  const at::Tensor latents = oracle::normal({1, 300, 1}, random);
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
  const at::Tensor matrix = genetic_relationship(300, 3000, random);
  const IterativeRelationship law = iterated(matrix);
  const Relationship exact(matrix);
  const at::Tensor latents = oracle::normal({1, 300, 2}, random);
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
  at::Tensor matrix = chain(300);
  matrix[3][200] = matrix[200][3] = 40;
  EXPECT_THROW(iterated(matrix), InputError);
  EXPECT_THROW(iterated(chain(30) - 2 * at::eye(30, at::kDouble)), InputError);
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
  EXPECT_THROW(DenseRelationshipOperator(at::zeros({3, 2}, at::kDouble)), InputError);
  EXPECT_THROW(DenseRelationshipOperator(at::zeros({3, 3}, at::kLong)), InputError);
  EXPECT_THROW(DenseRelationshipOperator(at::full({3, 3}, std::nan(""), at::kDouble)),
               InputError);
  const CompressedRows one_sided{{0, 2, 3}, {0, 1, 1}, {1, 0.5, 1}};
  EXPECT_THROW(SparseRelationshipOperator{one_sided}, InputError);
  const CompressedRows repeated{{0, 2, 3}, {0, 0, 1}, {1, 1, 1}};
  EXPECT_THROW(SparseRelationshipOperator{repeated}, InputError);
  EXPECT_THROW(iterated(chain(30), {.probes = 2}), InputError);
}

}  // namespace
}  // namespace kinflow
