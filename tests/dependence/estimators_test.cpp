// The two mini-batch estimators: the memory is exact for what it remembers, pairs are
// unbiased over all batches, and both reproduce the reference implementation.
#include <cmath>
#include <numbers>

#include "golden.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::Problem;

TEST(LatentMemory, AfterUpdatesEqualsTheFullComputationOnTheOverwrittenLatents) {
  Random random(11);
  for (const Problem& problem : oracle::random_problems()) {
    const Dependence& dependence = *problem.dependence;
    Array latents = problem.latents.clone();
    const auto memory = dependence.make_memory();
    memory->reset(latents);
    for (int step = 0; step < 12; ++step) {
      const std::int64_t batch = 1 + random.below(problem.rows());
      const Array rows =
          oracle::whole_numbers(random.permutation(problem.rows())).narrow(0, 0, batch);
      const Array fresh =
          oracle::normal({problem.replicas(), batch, problem.columns()}, random);
      memory->update(rows, fresh);
      latents.index_copy_(1, rows, fresh);
      const Array& parameters = problem.parameters;
      EXPECT_TRUE(nd::equal(memory->latents(), latents)) << problem.text();
      expect_near(memory->precision_rows(parameters, rows),
                  problem.precision_times(latents).index_select(1, rows),
                  oracle::kTolerance, problem.text());
      expect_near(memory->parameter_gradient(parameters),
                  dependence.parameter_gradient(parameters, latents),
                  oracle::kTolerance, problem.text());
    }
  }
}

TEST(LatentMemory, ResetFromItsOwnLatentsGivesTheSameMemory) {
  Random random(12);
  for (const Problem& problem :
       oracle::problems_of_every_structure({4, 1, 3, 2}, 2, 3, /*seed=*/2)) {
    const auto memory = problem.dependence->make_memory();
    memory->reset(problem.latents);
    memory->update(oracle::whole_numbers({8, 0, 3}), oracle::normal({2, 3, 3}, random));
    const auto resumed = problem.dependence->make_memory();
    resumed->reset(memory->latents());
    expect_near(resumed->parameter_gradient(problem.parameters),
                memory->parameter_gradient(problem.parameters), oracle::kTolerance,
                problem.text());
  }
}

#ifdef KINFLOW_CUDA  // where arrays can carry gradients
TEST(LatentMemory, TakesLatentsThatCarryGradients) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({2, 1}, 1, 2, /*seed=*/4)) {
    const auto memory = problem.dependence->make_memory();
    memory->reset(problem.latents);
    const Array fresh = nd::ones({1, 2, 2}, nd::kDouble).set_requires_grad(true);
    const Array rows = oracle::whole_numbers({2, 0});
    memory->update(rows, 2 * fresh);
    EXPECT_FALSE(memory->latents().requires_grad());
    EXPECT_FALSE(memory->precision_rows(problem.parameters, rows).requires_grad());
  }
}
#endif

TEST(Pairs, RowsAreUnbiasedOverAllBatches) {
  Random random(21);
  for (const auto& sizes : {std::vector<std::int64_t>{3, 1, 2}, {4, 2, 1}}) {
    for (const Problem& problem :
         oracle::problems_of_every_structure(sizes, 3, 2, /*seed=*/22)) {
      const std::int64_t n = problem.rows();
      const Array directions = oracle::normal({n, 2}, random);
      const Array exact = problem.precision_times(problem.latents);
      for (const std::int64_t b : {std::int64_t{2}, std::int64_t{3}, n}) {
        Array traces = nd::zeros({3}, nd::kDouble);
        Array rows_sum = nd::zeros_like(exact);
        const auto batches = oracle::all_batches(n, b);
        for (const Array& rows : batches) {
          const Array estimate = problem.dependence->pairs_rows(
              problem.parameters, rows, problem.latents.index_select(1, rows));
          rows_sum.index_add_(1, rows, estimate);
          traces += (estimate * directions.index_select(0, rows)).sum({1, 2});
        }
        const double batch_count = static_cast<double>(batches.size());
        const double scale = static_cast<double>(n) / static_cast<double>(b);
        // Each row is in b / n of the batches.
        expect_near(rows_sum * scale / batch_count, exact, oracle::kTolerance,
                    problem.text());
        expect_near(traces * scale / batch_count, (exact * directions).sum({1, 2}),
                    oracle::kTolerance, problem.text());
      }
    }
  }
}

TEST(Pairs, ParameterGradientIsUnbiasedOverAllBatches) {
  for (const auto& sizes : {std::vector<std::int64_t>{3, 1, 2}, {4, 2, 1}}) {
    for (const Problem& problem :
         oracle::problems_of_every_structure(sizes, 3, 2, /*seed=*/23)) {
      const std::int64_t n = problem.rows();
      for (const std::int64_t b : {std::int64_t{2}, std::int64_t{3}, n}) {
        Array sum = nd::zeros_like(problem.parameters);
        const auto batches = oracle::all_batches(n, b);
        for (const Array& rows : batches) {
          sum += problem.dependence->pairs_parameter_gradient(
              problem.parameters, rows, problem.latents.index_select(1, rows));
        }
        expect_near(sum / static_cast<double>(batches.size()),
                    oracle::parameter_gradient(problem), oracle::kTolerance,
                    problem.text());
      }
    }
  }
}

TEST(Pairs, ParameterGradientIsTheDerivativeOfTheTraceEstimate) {
  // The estimate of the objective from one batch, as a function of the parameters.
  for (const Problem& problem :
       oracle::problems_of_every_structure({3, 1, 2}, 2, 2, /*seed=*/24)) {
    const Dependence& dependence = *problem.dependence;
    const Array rows = oracle::whole_numbers({4, 0, 5, 1});
    const Array batch = problem.latents.index_select(1, rows);
    const auto estimate = [&](const Array& parameters) {
      const Array trace =
          (dependence.pairs_rows(parameters, rows, batch) * batch).sum({1, 2});
      return 0.5 * (2 * dependence.log_det(parameters) + 6.0 / 4.0 * trace);
    };
    Array expected = nd::zeros_like(problem.parameters);
    for (std::int64_t k = 0; k < problem.parameter_count; ++k) {
      Array step = nd::zeros_like(problem.parameters);
      step.select(1, k).fill_(1e-4);
      expected.select(1, k).copy_((8 * (estimate(problem.parameters + step) -
                                        estimate(problem.parameters - step)) -
                                   (estimate(problem.parameters + 2 * step) -
                                    estimate(problem.parameters - 2 * step))) /
                                  12e-4);
    }
    expect_near(dependence.pairs_parameter_gradient(problem.parameters, rows, batch),
                expected, 1e-8, problem.text());
  }
}

TEST(Pairs, ABatchOfOneRowUsesTheDiagonalOnly) {
  for (const Problem& problem :
       oracle::problems_of_every_structure({3, 1, 2}, 2, 2, /*seed=*/25)) {
    const Array rows = oracle::whole_numbers({4});
    const Array latents = problem.latents.index_select(1, rows);
    const Array diagonal = problem.precisions().select(2, 4).select(2, 4);
    expect_near(problem.dependence->pairs_rows(problem.parameters, rows, latents),
                diagonal.unsqueeze(1) * latents, oracle::kTolerance, problem.text());
  }
}

Array golden_matrix(const std::vector<std::vector<double>>& rows) {
  std::vector<Array> stacked;
  for (const auto& row : rows) stacked.push_back(nd::tensor(row, nd::kDouble));
  return nd::stack(stacked);
}

/// -p/2 log 2pi - 1/(2b) sum_i u_i . g_i of a batch: all of the estimate of log p(U)/n
/// but the log-determinant.
double estimate_without_log_det(const Dependence& dependence, const Array& parameters,
                                const golden::Batch& batch) {
  const Array rows = oracle::whole_numbers(batch.rows);
  const Array latents =
      golden_matrix(golden::kLatents).index_select(0, rows).unsqueeze(0);
  const double trace =
      (dependence.pairs_rows(parameters, rows, latents) * latents).sum().item<double>();
  return -1.5 * std::log(2 * std::numbers::pi) -
         0.5 * trace / static_cast<double>(batch.rows.size());
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

TEST(Golden, BlocksReproduceTheReference) {
  const golden::Case& reference = golden::kBlocks;
  const Blocks blocks(oracle::whole_numbers(golden::kBlockOfRow));
  const Array correlations = nd::tensor(reference.parameters, nd::kDouble);
  const Array correlated = nd::nonzero(blocks.sizes() > 1).squeeze(1);
  const Array parameters = correlations.index_select(0, correlated).unsqueeze(0);
  const Array latents = golden_matrix(golden::kLatents).unsqueeze(0);
  EXPECT_NEAR(blocks.log_density(parameters, latents).item<double>(),
              reference.log_density, 1e-12 * std::abs(reference.log_density));
  for (const golden::Batch& batch : reference.batches) {
    // The reference counts for each row its share of its own block's log-determinant.
    double log_det_share = 0;
    for (const std::int64_t row : batch.rows) {
      const auto block = blocks.block_of_row()[row].item<std::int64_t>();
      const auto size = blocks.sizes()[block].item<std::int64_t>();
      if (size == 1) continue;
      const Blocks alone(nd::zeros({size}, nd::kLong));
      log_det_share += alone.log_det(correlations[block].view({1, 1})).item<double>() /
                       static_cast<double>(size);
    }
    const double estimate =
        estimate_without_log_det(blocks, parameters, batch) -
        1.5 * log_det_share / static_cast<double>(batch.rows.size());
    EXPECT_NEAR(estimate, mean(batch.row_log_densities), 1e-12);
  }
}

TEST(Golden, RelationshipReproducesTheReference) {
  const Relationship relationship(golden_matrix(golden::kRelationship));
  const Array latents = golden_matrix(golden::kLatents).unsqueeze(0);
  for (const golden::Case& reference : golden::kRelationshipCases) {
    const Array parameters = nd::tensor(reference.parameters, nd::kDouble).unsqueeze(0);
    EXPECT_NEAR(relationship.log_density(parameters, latents).item<double>(),
                reference.log_density, 1e-12 * std::abs(reference.log_density));
    const double log_det = relationship.log_det(parameters).item<double>();
    for (const golden::Batch& batch : reference.batches) {
      const double estimate =
          estimate_without_log_det(relationship, parameters, batch) -
          1.5 * log_det / 12;
      EXPECT_NEAR(estimate, mean(batch.row_log_densities), 1e-12);
    }
  }
}

}  // namespace
}  // namespace kinflow
