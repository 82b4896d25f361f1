// The law of a relationship that is only multiplied, against that of the decomposed
// one.
#include <cmath>

#include "iterative_matrices.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::whole_numbers;

/// What sums over 300 rows may be off by rounding, where the exact result is 0: the
/// identity has no slope in lambda.
constexpr double kRounding = 1e-11;

TEST(IterativeRelationship, GradientIsThatOfTheEstimatedObjective) {
  Random random(108);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values, {.tolerance = 1e-11});
    const Array parameters = nd::tensor({0.05, 0.4, 0.8}, nd::kDouble).unsqueeze(1);
    const Array latents = oracle::normal({3, 300, 2}, random);
    const double step = 1e-3;
    const auto change = [&](double by) {
      return law.objective(parameters + by, latents) -
             law.objective(parameters - by, latents);
    };
    const Array expected = (8 * change(step) - change(2 * step)) / (12 * step);
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
      const Array latents = matrix.exact.sample(share(lambda)[0], 4, draws);
      const Array actual = law.parameter_gradient(share(lambda), latents.unsqueeze(0));
      const Array expected =
          matrix.exact.parameter_gradient(share(lambda), latents.unsqueeze(0));
      // The derivative of log det C is off by what the bound allows on the logit's
      // scale, where log det C bends little.
      const double bound =
          4 * law.log_det_estimate(lambda).error / (lambda * (1 - lambda)) +
          1e-8 * std::abs(expected.item<double>()) + kRounding;
      EXPECT_NEAR(actual.item<double>(), expected.item<double>(), bound)
          << matrix.name << ", lambda " << lambda;
    }
  }
}

TEST(IterativeRelationship, PairsMatchTheDecomposition) {
  Random random(111);
  const Array rows = whole_numbers({4, 299, 17, 120, 121, 0, 34});
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const Array parameters = nd::tensor({0.05, 0.7}, nd::kDouble).unsqueeze(1);
    const Array batch = oracle::normal({2, 7, 3}, random);
    expect_near(law.pairs_rows(parameters, rows, batch),
                matrix.exact.pairs_rows(parameters, rows, batch), 1e-6, matrix.name);
    // Without the log-determinant's part, which is an estimate here.
    const auto trace_part = [&](const Dependence& of) {
      return of.pairs_parameter_gradient(parameters, rows, batch) -
             of.parameter_gradient(parameters, nd::zeros({2, 300, 3}, nd::kDouble));
    };
    expect_near(trace_part(law), trace_part(matrix.exact), 1e-6, matrix.name);
  }
}

TEST(IterativeRelationship, ConditionMatchesTheDecomposition) {
  Random random(112);
  const Array order = whole_numbers(random.permutation(300));
  const Array observed = order.narrow(0, 0, 260);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const Array latents = oracle::normal({260, 2}, random);
    const Array parameters = share(0.2)[0];
    const ConditionalLaw actual = law.condition(parameters, observed, latents);
    const ConditionalLaw expected =
        matrix.exact.condition(parameters, observed, latents);
    EXPECT_TRUE(nd::equal(actual.rows, expected.rows));
    expect_near(actual.mean, expected.mean, 1e-6, matrix.name);
    expect_near(actual.covariance, expected.covariance, 1e-6, matrix.name);
  }
}

TEST(IterativeRelationship, ConditionRowsMatchTheDecomposition) {
  // 270 rows are unknown, more than one panel.
  Random random(113);
  const Array observed = whole_numbers(random.permutation(300)).narrow(0, 0, 30);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const Array latents = oracle::normal({30, 2}, random);
    const Array parameters = share(0.2)[0];
    const ConditionalRows actual = law.condition_rows(parameters, observed, latents);
    const ConditionalLaw expected =
        matrix.exact.condition(parameters, observed, latents);
    EXPECT_TRUE(nd::equal(actual.rows, expected.rows));
    expect_near(actual.mean, expected.mean, 1e-6, matrix.name);
    expect_near(actual.variance.squeeze(1), expected.covariance[0].diagonal(), 1e-6,
                matrix.name);
  }
}

/// Mean squares of draws along the eigenvectors, in units of the law's: all near 1.
void expect_variances(const Relationship& exact, double lambda, const Array& draws,
                      const std::string& what) {
  const Array squares = nd::mm(exact.eigenvectors().t(), draws).square().mean(1) /
                        (lambda + (1 - lambda) * exact.eigenvalues());
  const double error = std::sqrt(2.0 / static_cast<double>(draws.size(1)));
  EXPECT_LE((squares - 1).abs().max().item<double>(), 5 * error) << what;
}

TEST(IterativeRelationship, DrawsHaveTheVarianceOfTheLawInEveryDirection) {
  for (const Matrix& matrix : matrices()) {
    for (const double lambda : {0.1, 0.5}) {
      Random random(113);
      const Array draws = iterated(matrix.values).sample(share(lambda)[0], 400, random);
      expect_variances(matrix.exact, lambda, draws, matrix.name);
    }
  }
}

TEST(IterativeRelationship, DrawsGivenRowsKeepThemAndHaveTheConditionalVariances) {
  Random random(114);
  const Array observed = nd::arange(0, 250, nd::kLong);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    const Array latents = oracle::normal({250, 1}, random).expand({250, 400});
    const Array draws = law.sample_given(share(0.3)[0], observed, latents, random);
    EXPECT_TRUE(nd::equal(draws.narrow(0, 0, 250), latents)) << matrix.name;
    const ConditionalLaw expected =
        matrix.exact.condition(share(0.3)[0], observed, latents.narrow(1, 0, 1));
    const Array errors = draws.narrow(0, 250, 50) - expected.mean;
    const Array whitened = nd::linalg_solve_triangular(
        nd::linalg_cholesky(expected.covariance[0]), errors, /*upper=*/false);
    const Array covariance = nd::mm(whitened, whitened.t()) / 400;
    EXPECT_LE((covariance - nd::eye(50, nd::kDouble)).abs().max().item<double>(),
              5 * std::sqrt(2.0 / 400))
        << matrix.name;
  }
}

TEST(IterativeRelationship, MemoryEqualsTheFullComputationWhenItHasSolved) {
  Random random(117);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law =
        iterated(matrix.values, {.memory_share = 0, .memory_logit = 0});
    Array latents = oracle::normal({2, 300, 2}, random);
    Array parameters = nd::tensor({0.1, 0.6}, nd::kDouble).unsqueeze(1);
    const auto memory = law.make_memory();
    memory->reset(latents);
    for (int step = 0; step < 3; ++step) {
      const Array rows = whole_numbers(random.permutation(300)).narrow(0, 0, 20);
      const Array fresh = oracle::normal({2, 20, 2}, random);
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
Array trace_part(const Dependence& law, const Array& gradient,
                 const Array& parameters) {
  return gradient -
         law.parameter_gradient(
             parameters, nd::zeros({parameters.size(0), law.rows(), 2}, nd::kDouble));
}

TEST(IterativeRelationship, MemoryFollowsChangedRowsBetweenSolutions) {
  Random random(118);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values, {.memory_share = 1});
    const Array before = oracle::normal({2, 300, 2}, random);
    const Array parameters = nd::tensor({0.3, 0.6}, nd::kDouble).unsqueeze(1);
    const auto memory = law.make_memory();
    memory->reset(before);
    memory->precision_rows(parameters, whole_numbers({0}));
    const Array rows = whole_numbers(random.permutation(300)).narrow(0, 0, 60);
    const Array fresh =
        0.7 * before.index_select(1, rows) + 0.2 * oracle::normal({2, 60, 2}, random);
    const Array after = before.index_copy(1, rows, fresh);
    memory->update(rows.narrow(0, 0, 25), fresh.narrow(1, 0, 25));
    memory->update(rows.narrow(0, 25, 35), fresh.narrow(1, 25, 35));
    const Array stale = matrix.exact.precision_times(parameters, before);
    const Array expected = matrix.exact.precision_times(parameters, after);
    const Array followed = memory->precision_rows(parameters, rows);
    EXPECT_LE((followed - expected.index_select(1, rows)).norm().item<double>(),
              0.6 * (stale - expected).index_select(1, rows).norm().item<double>() +
                  kRounding)
        << matrix.name;
    const auto exact_part = [&](const Array& latents) {
      return trace_part(matrix.exact,
                        matrix.exact.parameter_gradient(parameters, latents),
                        parameters);
    };
    const Array part =
        trace_part(law, memory->parameter_gradient(parameters), parameters);
    EXPECT_LE((part - exact_part(after)).norm().item<double>(),
              0.6 * (exact_part(before) - exact_part(after)).norm().item<double>() +
                  kRounding)
        << matrix.name;
  }
}

TEST(IterativeRelationship, MemoryFollowsLambdaBetweenSolutions) {
  Random random(128);
  const Array all = nd::arange(300, nd::kLong);
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values, {.memory_logit = 1});
    const Array latents = oracle::normal({2, 300, 2}, random);
    const Array parameters = nd::tensor({0.3, 0.6}, nd::kDouble).unsqueeze(1);
    const Array moved = parameters + 0.02;
    const auto memory = law.make_memory();
    memory->reset(latents);
    memory->precision_rows(parameters, all);
    const Array stale = matrix.exact.precision_times(parameters, latents);
    const Array expected = matrix.exact.precision_times(moved, latents);
    EXPECT_LE((memory->precision_rows(moved, all) - expected).norm().item<double>(),
              0.15 * (stale - expected).norm().item<double>() + kRounding)
        << matrix.name;
    const auto exact_part = [&](const Array& at_lambda) {
      return trace_part(matrix.exact,
                        matrix.exact.parameter_gradient(at_lambda, latents), at_lambda);
    };
    EXPECT_LE(
        (trace_part(law, memory->parameter_gradient(moved), moved) - exact_part(moved))
            .norm()
            .item<double>(),
        0.15 * (exact_part(parameters) - exact_part(moved)).norm().item<double>() +
            kRounding)
        << matrix.name;
  }
}

TEST(IterativeRelationship, MemoryIsItsLatentsAlone) {
  Random random(119);
  const IterativeRelationship law = iterated(chain(300));
  const Array parameters = share(0.3), all = nd::arange(300, nd::kLong);
  const auto memory = law.make_memory();
  memory->reset(oracle::normal({1, 300, 2}, random));
  memory->precision_rows(parameters, all);
  memory->update(all.narrow(0, 0, 150), oracle::normal({1, 150, 2}, random));
  memory->precision_rows(parameters, all);
  memory->reset(memory->latents());
  const auto another = law.make_memory();
  another->reset(memory->latents());
  EXPECT_TRUE(nd::equal(memory->precision_rows(parameters, all),
                        another->precision_rows(parameters, all)));
  EXPECT_TRUE(nd::equal(memory->parameter_gradient(parameters),
                        another->parameter_gradient(parameters)));
}

TEST(IterativeRelationship, MostLikelyLambdaIsThatOfTheDecomposition) {
  for (const Matrix& matrix : matrices()) {
    const IterativeRelationship law = iterated(matrix.values);
    Random random(120);
    const Array latents = matrix.exact.sample(share(0.4)[0], 5, random).unsqueeze(0);
    const Array start = share(0.5);
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

}  // namespace
}  // namespace kinflow
