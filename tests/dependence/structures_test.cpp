// Every dependence structure against the dense oracle: values, gradients, parameters on
// the unbounded scale, floating types.
#include <cmath>
#include <limits>
#include <numbers>

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::Problem;

TEST(Structures, LogDetMatchesDenseCovariance) {
  for (const Problem& problem : oracle::random_problems()) {
    expect_near(problem.dependence->log_det(problem.parameters),
                nd::logdet(problem.covariances()).mean(1), oracle::kTolerance,
                problem.text());
  }
}

TEST(Structures, CovarianceMatchesItsDefinition) {
  for (const Problem& problem : oracle::random_problems()) {
    for (std::int64_t r = 0; r < problem.replicas(); ++r) {
      expect_near(problem.dependence->covariance(problem.parameters[r]),
                  problem.covariance_at(problem.parameters[r]), oracle::kTolerance,
                  problem.text());
    }
  }
}

TEST(Structures, PrecisionTimesMatchesDenseInverse) {
  for (const Problem& problem : oracle::random_problems()) {
    expect_near(
        problem.dependence->precision_times(problem.parameters, problem.latents),
        problem.precision_times(problem.latents), oracle::kTolerance, problem.text());
  }
}

TEST(Structures, QuadraticMatchesDenseInverse) {
  for (const Problem& problem : oracle::random_problems()) {
    const Array expected =
        (problem.latents * problem.precision_times(problem.latents)).sum({1, 2});
    expect_near(problem.dependence->quadratic(problem.parameters, problem.latents),
                expected, oracle::kTolerance, problem.text());
  }
}

TEST(Structures, LogDensityMatchesTheNormalDensityOfEachColumn) {
  for (const Problem& problem : oracle::random_problems()) {
    std::vector<Array> expected;
    for (std::int64_t r = 0; r < problem.replicas(); ++r) {
      const double numbers = static_cast<double>(problem.rows() * problem.columns());
      expected.push_back(-0.5 * numbers * std::log(2 * std::numbers::pi) -
                         oracle::objective(problem.covariance(problem.parameters[r]),
                                           problem.latents[r]));
    }
    expect_near(problem.dependence->log_density(problem.parameters, problem.latents),
                nd::stack(expected), oracle::kTolerance, problem.text());
  }
}

TEST(Structures, ParameterGradientMatchesTheDerivativeOfTheDenseObjective) {
  for (const Problem& problem : oracle::random_problems()) {
    expect_near(
        problem.dependence->parameter_gradient(problem.parameters, problem.latents),
        oracle::parameter_gradient(problem), oracle::kTolerance, problem.text());
  }
}

TEST(Structures, UnconstrainedParametersComeBack) {
  for (const Problem& problem : oracle::random_problems()) {
    const Dependence& dependence = *problem.dependence;
    const Array unconstrained = dependence.to_unconstrained(problem.parameters);
    expect_near(dependence.from_unconstrained(unconstrained), problem.parameters, 1e-14,
                problem.text());
  }
}

TEST(Structures, UnconstrainedParametersStayInsideTheirRange) {
  const Blocks blocks(oracle::whole_numbers({0, 0}));
  for (const double far : {-1e4, -50.0, 50.0, 1e4}) {
    const double parameter =
        blocks.from_unconstrained(nd::full({1, 1}, far, nd::kDouble)).item<double>();
    EXPECT_GE(parameter, 1e-9);
    EXPECT_LE(parameter, 1 - 1e-9);
  }
  for (const double edge : {0.0, 1.0}) {
    const Array parameter = nd::full({1, 1}, edge, nd::kDouble);
    EXPECT_TRUE(blocks.to_unconstrained(parameter).isfinite().item<bool>());
  }
}

TEST(Structures, UnconstrainedGradientMatchesFiniteDifferences) {
  for (const Problem& problem : oracle::random_problems()) {
    const Dependence& dependence = *problem.dependence;
    const Array start = dependence.to_unconstrained(problem.parameters);
    const auto objective_at = [&](const Array& unconstrained) {
      return dependence.objective(dependence.from_unconstrained(unconstrained),
                                  problem.latents);
    };
    Array expected = nd::zeros_like(problem.parameters);
    for (std::int64_t k = 0; k < problem.parameter_count; ++k) {
      Array step = nd::zeros_like(start);
      step.select(1, k).fill_(1e-3);
      // Central differences of order 4.
      const Array difference =
          8 * (objective_at(start + step) - objective_at(start - step)) -
          (objective_at(start + 2 * step) - objective_at(start - 2 * step));
      expected.select(1, k).copy_(difference / 12e-3);
    }
    const Array actual = dependence.unconstrained_gradient(
        problem.parameters,
        dependence.parameter_gradient(problem.parameters, problem.latents));
    expect_near(actual, expected, 1e-8, problem.text());
  }
}

TEST(Structures, PriorPullsTowardsTheMiddleOfTheRange) {
  for (const Problem& problem : oracle::random_problems()) {
    if (problem.parameter_count == 0) continue;
    const Dependence& dependence = *problem.dependence;
    const Array gradient = dependence.unconstrained_prior_gradient(problem.parameters);
    EXPECT_EQ(gradient.sizes(), problem.parameters.sizes()) << problem.text();
    const Array middle = dependence.default_parameters().unsqueeze(0);
    expect_near(dependence.unconstrained_prior_gradient(middle), nd::zeros_like(middle),
                1e-12, problem.text());
  }
}

TEST(Structures, PriorObjectiveHasThePriorGradient) {
  for (const Problem& problem : oracle::random_problems()) {
    // The law of pooled correlations moves with them, and is held in the gradient.
    if (problem.name == "blocks, pooled") continue;
    const Dependence& dependence = *problem.dependence;
    const Array start = dependence.to_unconstrained(problem.parameters);
    const auto prior_at = [&](const Array& unconstrained) {
      return dependence.prior_objective(dependence.from_unconstrained(unconstrained));
    };
    Array expected = nd::zeros_like(problem.parameters);
    for (std::int64_t k = 0; k < problem.parameter_count; ++k) {
      Array step = nd::zeros_like(start);
      step.select(1, k).fill_(1e-4);
      expected.select(1, k).copy_((prior_at(start + step) - prior_at(start - step)) /
                                  2e-4);
    }
    EXPECT_EQ(prior_at(start).sizes(), nd::IntArrayRef({problem.replicas()}));
    expect_near(dependence.unconstrained_prior_gradient(problem.parameters), expected,
                1e-7, problem.text());
  }
}

TEST(Structures, DefaultParametersLieInsideTheirRange) {
  for (const Problem& problem : oracle::random_problems()) {
    const Dependence& dependence = *problem.dependence;
    const Array start = dependence.default_parameters().unsqueeze(0);
    EXPECT_EQ(start.size(1), problem.parameter_count) << problem.text();
    expect_near(dependence.from_unconstrained(dependence.to_unconstrained(start)),
                start, 1e-14, problem.text());
    EXPECT_TRUE(nd::isfinite(dependence.log_det(start)).item<bool>()) << problem.text();
  }
}

TEST(Structures, Float32LatentsAreComputedInFloat64) {
  for (const Problem& problem : oracle::random_problems()) {
    const Dependence& dependence = *problem.dependence;
    const Array single = problem.latents.to(nd::kFloat);
    const Array rounded = single.to(nd::kDouble);
    const Array& parameters = problem.parameters;
    const Array rows = nd::arange(problem.rows(), nd::kLong).flip(0);
    const auto expect_same = [&](const Array& actual, const Array& expected) {
      expect_near(actual, expected, 1e-14, problem.text());
    };
    expect_same(dependence.log_density(parameters, single),
                dependence.log_density(parameters, rounded));
    expect_same(dependence.precision_times(parameters, single),
                dependence.precision_times(parameters, rounded));
    expect_same(dependence.parameter_gradient(parameters, single),
                dependence.parameter_gradient(parameters, rounded));
    expect_same(dependence.pairs_rows(parameters, rows, single),
                dependence.pairs_rows(parameters, rows, rounded));
    const auto memory = dependence.make_memory();
    memory->reset(single);
    EXPECT_EQ(memory->latents().scalar_type(), nd::kFloat);
    expect_same(memory->precision_rows(parameters, rows),
                dependence.precision_times(parameters, rounded).index_select(1, rows));
  }
}

TEST(Structures, ExtremeParametersGiveFiniteResults) {
  for (const Problem& problem : oracle::random_problems()) {
    const Dependence& dependence = *problem.dependence;
    const Array rows = nd::arange(problem.rows(), nd::kLong);
    for (const double extreme : {1e-9, 1e-6, 1 - 1e-9}) {
      const Array parameters = nd::full_like(problem.parameters, extreme);
      const auto memory = dependence.make_memory();
      memory->reset(problem.latents);
      for (const Array& result :
           {dependence.log_density(parameters, problem.latents),
            dependence.precision_times(parameters, problem.latents),
            dependence.parameter_gradient(parameters, problem.latents),
            dependence.pairs_rows(parameters, rows, problem.latents),
            dependence.pairs_parameter_gradient(parameters, rows, problem.latents),
            memory->precision_rows(parameters, rows),
            memory->parameter_gradient(parameters),
            dependence.to_unconstrained(parameters)}) {
        EXPECT_TRUE(result.isfinite().all().item<bool>())
            << problem.text() << ", parameter " << extreme;
      }
    }
  }
}

TEST(Structures, WrongShapesAreRefused) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({3, 1, 2}, 2, 2, /*seed=*/3)) {
    const Dependence& dependence = *problem.dependence;
    const Array more_parameters =
        nd::full({2, problem.parameter_count + 1}, 0.5, nd::kDouble);
    EXPECT_THROW(dependence.log_det(more_parameters), InputError);
    EXPECT_THROW(dependence.covariance(problem.parameters), InputError);
    EXPECT_THROW(
        dependence.quadratic(problem.parameters.narrow(0, 0, 1), problem.latents),
        InputError);
    const Array fewer_rows = problem.latents.narrow(1, 0, 5);
    EXPECT_THROW(dependence.log_density(problem.parameters, fewer_rows), InputError);
    EXPECT_THROW(dependence.parameter_gradient(problem.parameters, fewer_rows),
                 InputError);
    const auto memory = dependence.make_memory();
    EXPECT_THROW(memory->reset(fewer_rows), InputError);
    memory->reset(problem.latents);
    EXPECT_THROW(memory->update(oracle::whole_numbers({0, 1}), fewer_rows), InputError);
  }
}

TEST(Structures, ResultsOnAGpuMatchTheCpu) {
  if (!nd::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  Random random(5);
  const std::int64_t n = 31;
  const Array labels = nd::arange(n, nd::kLong).remainder(7);
  const Array factor = oracle::normal({n, n}, random);
  const Array relationship = nd::mm(factor, factor.t()) / n;
  const Array latents = oracle::normal({3, n, 2}, random);
  const Array batch = oracle::whole_numbers({4, 30, 11, 18, 2});
  const Array fresh = oracle::normal({3, 5, 2}, random);
  const auto results = [&](nd::Device device) {
    std::vector<Array> all;
    const Blocks blocks(labels.to(device));
    const Relationship related(relationship.to(device));
    const Independent independent(n);
    // Decomposed in one place: the signs of a factor's vectors, and so draws, are free.
    const auto parts = decompose_factor(factor.narrow(1, 0, 5));
    const Relationship low_rank(SpectralDecomposition{parts.eigenvectors.to(device),
                                                      parts.eigenvalues.to(device)});
    const Families families(block_rows(labels));
    const MarkovTime time(latents[0].select(1, 0).to(device));
    const RelationshipSum sum({relationship.to(device)});
    const RelationshipSum sparse_sum({block_rows(labels)});
    const GaussianTime gaussian_time(latents[0].select(1, 0).to(device));
    const Unstructured unstructured(n);
    const IterativeRelationship iterative(
        std::make_shared<DenseRelationshipOperator>(relationship.to(device)),
        {.basis = 16, .tolerance = 1e-12});
    for (const Dependence* dependence : std::initializer_list<const Dependence*>{
             &blocks, &related, &independent, &low_rank, &families, &time, &sum,
             &sparse_sum, &gaussian_time, &unstructured, &iterative}) {
      const Array parameters =
          nd::full({3, dependence->parameter_count()}, 0.4, nd::kDouble).to(device);
      const Array u = latents.to(device), rows = batch.to(device);
      const Array batch_u = fresh.to(device);
      const auto memory = dependence->make_memory();
      memory->reset(u);
      memory->update(rows, batch_u);
      Random draws(8);
      all.insert(all.end(),
                 {dependence->log_density(parameters, u),
                  dependence->precision_times(parameters, u),
                  dependence->parameter_gradient(parameters, u),
                  dependence->pairs_rows(parameters, rows, batch_u),
                  dependence->pairs_parameter_gradient(parameters, rows, batch_u),
                  memory->precision_rows(parameters, rows),
                  memory->parameter_gradient(parameters),
                  dependence->condition(parameters[0], rows, batch_u[0]).mean,
                  dependence->condition_rows(parameters[0], rows, batch_u[0]).variance,
                  dependence->sample(parameters[0], 2, draws),
                  dependence->sample_given(parameters[0], rows, batch_u[0], draws)});
    }
    return all;
  };
  const auto on_cpu = results(nd::kCPU);
  const auto on_gpu = results(nd::Device(nd::kCUDA, 0));
  for (std::size_t i = 0; i < on_cpu.size(); ++i) {
    expect_near(on_gpu[i].cpu(), on_cpu[i], 1e-9, "result " + std::to_string(i));
  }
}

}  // namespace
}  // namespace kinflow
