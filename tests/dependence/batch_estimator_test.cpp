// What a training asks of every batch: each structure's way against memory and pairs
// taken one by one, in float64 and in float32.
#include "kinflow/dependence/batch_estimator.h"

#include "kinflow/core/workers.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/row_matrix.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;
using oracle::Problem;

const EstimatorChoice kMemory{true, 1, true};
const EstimatorChoice kHybrid{true, 0.3, true};
const EstimatorChoice kFixedHybrid{true, 0.6, false};
const EstimatorChoice kPairs{false, 0, true};
const EstimatorChoice kFixedPairs{false, 0, false};

using Choices = std::vector<EstimatorChoice>;

// Mixtures for three replicas: what one needs, others may not.
const std::vector<Choices> kMixtures = {{kMemory, kMemory, kMemory},
                                        {kHybrid, kFixedHybrid, kMemory},
                                        {kPairs, kPairs, kFixedPairs},
                                        {kFixedPairs, kFixedPairs, kFixedPairs},
                                        {kHybrid, kPairs, kFixedPairs}};

// Gradients of replicas that do not move mean nothing.
at::Tensor moving(const at::Tensor& gradient, const Choices& choices) {
  at::Tensor result = gradient.clone();
  for (std::size_t r = 0; r < choices.size(); ++r) {
    if (!choices[r].moves_parameters) result[static_cast<std::int64_t>(r)].zero_();
  }
  return result;
}

// Takes both estimators through some batches of latents that `type` holds exactly.
void expect_same_estimates(const Problem& problem, const Choices& choices,
                           BatchEstimator& tried, at::ScalarType type, double tolerance,
                           std::int64_t batches, Random& random) {
  const auto oracle = make_composed_estimator(*problem.dependence, choices);
  const at::Tensor first = problem.latents.to(type);
  oracle->reset(first.to(at::kDouble));
  tried.reset(first);
  for (std::int64_t step = 0; step < batches; ++step) {
    const std::int64_t batch = 1 + random.below(problem.rows());
    const at::Tensor rows =
        oracle::whole_numbers(random.permutation(problem.rows())).narrow(0, 0, batch);
    const at::Tensor latents =
        oracle::normal({problem.replicas(), batch, problem.columns()}, random).to(type);
    const at::Tensor& parameters = problem.parameters;
    const std::string what = problem.text() + ", batch of " + std::to_string(batch);
    expect_near(
        tried.precision_rows(parameters, rows, latents).to(at::kDouble),
        oracle->precision_rows(parameters, rows, latents.to(at::kDouble)).contiguous(),
        tolerance, what);
    expect_near(moving(tried.parameter_gradient(parameters), choices),
                moving(oracle->parameter_gradient(parameters), choices), tolerance,
                what + ": gradient");
    ASSERT_EQ(tried.latents().defined(), oracle->latents().defined()) << what;
    if (!tried.latents().defined()) continue;
    EXPECT_TRUE(at::equal(tried.latents().to(at::kDouble), oracle->latents())) << what;
  }
}

TEST(BatchEstimator, EqualsMemoryAndPairsOfEveryStructure) {
  Random random(61);
  for (const Problem& problem : oracle::random_problems()) {
    for (const Choices& choices : kMixtures) {
      // Parameters that do not exist cannot move.
      if (problem.parameter_count == 0 && choices[0].needs_memory) continue;
      const auto tried = problem.dependence->make_estimator(choices, at::kDouble);
      expect_same_estimates(problem, choices, *tried, at::kDouble, oracle::kTolerance,
                            3, random);
    }
  }
}

// Relationships, complete and of low rank, with more rows and coordinates than the
// kernels take at once.
std::vector<Problem> large_relationships() {
  Random random(62);
  std::vector<Problem> problems = {oracle::relationship_problem(601, 601, random),
                                   oracle::relationship_problem(333, 100, random),
                                   oracle::low_rank_problem(541, 37, random)};
  for (Problem& problem : problems) {
    problem.parameters = oracle::uniform({3, 1}, 0.1, 0.9, random);
    problem.latents = oracle::normal({3, problem.dependence->rows(), 2}, random);
  }
  return problems;
}

const Relationship& relationship_of(const Problem& problem) {
  return dynamic_cast<const Relationship&>(*problem.dependence);
}

TEST(BatchEstimator, OfBlocksKeepsItsLatentsInPlaceWhenItIsReset) {
  const Blocks blocks(at::arange(12) % 5);
  const auto estimator = blocks.make_estimator({kMemory}, at::kFloat);
  estimator->reset(at::randn({1, 12, 3}));
  const auto before = estimator->latents();
  const auto latents = at::randn({1, 12, 3});
  estimator->reset(latents);
  EXPECT_TRUE(estimator->latents().is_same(before));
  EXPECT_TRUE(at::equal(before, latents));
  const auto again = blocks.make_estimator({kMemory}, at::kFloat);
  again->reset(latents);
  const auto parameters = at::full({1, blocks.parameter_count()}, 0.4, at::kDouble);
  const auto rows = at::arange(4);
  const auto batch = at::randn({1, 4, 3});
  EXPECT_TRUE(at::equal(estimator->precision_rows(parameters, rows, batch),
                        again->precision_rows(parameters, rows, batch)));
}

TEST(RelationshipEstimator, OfManyRowsEqualsMemoryAndPairs) {
  Random random(63);
  for (const Problem& problem : large_relationships()) {
    for (const Choices& choices : kMixtures) {
      const Relationship& law = relationship_of(problem);
      expect_same_estimates(problem, choices, *law.make_estimator(choices, at::kDouble),
                            at::kDouble, oracle::kTolerance, 3, random);
      expect_same_estimates(problem, choices,
                            *law.make_tensor_estimator(choices, at::kDouble),
                            at::kDouble, oracle::kTolerance, 3, random);
    }
  }
}

TEST(RelationshipEstimator, InSinglePrecisionAgreesWithTheFloat64Oracle) {
  // Of the largest element, with sums over 600 rows, in which pairs of a small batch
  // weigh up to 43 times and cancel. Libraries' products differ by a few times.
  constexpr double kSinglePrecision = 2e-5;
  Random random(64);
  for (const Problem& problem : large_relationships()) {
    for (const Choices& choices : kMixtures) {
      const Relationship& law = relationship_of(problem);
      expect_same_estimates(problem, choices, *law.make_estimator(choices, at::kFloat),
                            at::kFloat, kSinglePrecision, 6, random);
      expect_same_estimates(problem, choices,
                            *law.make_tensor_estimator(choices, at::kFloat), at::kFloat,
                            kSinglePrecision, 6, random);
    }
  }
}

// Rows and gradients of some batches, [steps][R, ...] for all.
std::vector<at::Tensor> estimates(const Relationship& law, const Choices& choices,
                                  const at::Tensor& parameters,
                                  const at::Tensor& latents,
                                  const at::Tensor& batches) {
  const auto estimator = law.make_estimator(choices, latents.scalar_type());
  estimator->reset(latents);
  std::vector<at::Tensor> result;
  Random random(65);
  for (std::int64_t step = 0; step < batches.size(0); ++step) {
    const at::Tensor rows = oracle::whole_numbers(random.permutation(law.rows()))
                                .narrow(0, 0, batches.size(2));
    result.push_back(estimator->precision_rows(parameters, rows, batches[step]));
    result.push_back(moving(estimator->parameter_gradient(parameters), choices));
  }
  return result;
}

TEST(RelationshipEstimator, AReplicaDoesNotDependOnOthersNorOnThreadsInAnyBit) {
  const Problem problem = large_relationships()[0];
  const Relationship& law = relationship_of(problem);
  Random random(66);
  for (const auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor latents = problem.latents.to(type);
    const at::Tensor batches = oracle::normal({2, 3, 301, 2}, random)
                                   .to(type)
                                   .transpose(1, 2)
                                   .contiguous()
                                   .transpose(1, 2);
    for (const Choices& choices : kMixtures) {
      const auto together =
          estimates(law, choices, problem.parameters, latents, batches);
      set_worker_threads(3);
      const auto threads =
          estimates(law, choices, problem.parameters, latents, batches);
      set_worker_threads(1);
      for (std::int64_t r = 0; r < 3; ++r) {
        const auto alone = estimates(law, {choices[static_cast<std::size_t>(r)]},
                                     problem.parameters.narrow(0, r, 1),
                                     latents.narrow(0, r, 1), batches.narrow(1, r, 1));
        for (std::size_t i = 0; i < together.size(); ++i) {
          EXPECT_TRUE(at::equal(together[i].narrow(0, r, 1), alone[i]))
              << "replica " << r << ", result " << i;
          EXPECT_TRUE(at::equal(together[i], threads[i])) << "result " << i;
        }
      }
    }
  }
}

template <typename Real>
void expect_products_of(InstructionSet set, std::int64_t width, std::int64_t count,
                        std::int64_t columns, double tolerance) {
  Random random(67);
  constexpr std::int64_t kMatrixRows = 90;
  const at::Tensor matrix = oracle::normal({kMatrixRows, width}, random);
  const RowMatrix<Real> tried(matrix.data_ptr<double>(), kMatrixRows, width, set);
  const at::Tensor rows =
      oracle::whole_numbers(random.permutation(kMatrixRows)).narrow(0, 0, count);
  const at::Tensor some = matrix.index_select(0, rows);
  constexpr auto kType = at::CppTypeToScalarType<Real>::value;
  const auto numbers = [](const at::Tensor& t) { return t.data_ptr<Real>(); };
  const auto set_of_rows = tried.rows(rows.data_ptr<std::int64_t>(), count);

  const at::Tensor x = oracle::normal({count, columns}, random).to(kType);
  at::Tensor sums = at::zeros({columns, tried.stride()}, kType);
  tried.products().add_transposed(set_of_rows, 0, tried.stride(), numbers(x), columns,
                                  numbers(sums));
  expect_near(sums.narrow(1, 0, width).to(at::kDouble).t().contiguous(),
              at::mm(some.t(), x.to(at::kDouble)), tolerance, "transposed");

  const std::int64_t functions = columns + 1;
  const at::Tensor y = oracle::normal({columns, tried.stride()}, random).to(kType);
  const at::Tensor f = oracle::normal({functions, tried.stride()}, random).to(kType);
  at::Tensor products = at::empty({count, columns}, at::kDouble);
  at::Tensor squares = at::empty({count, functions}, at::kDouble);
  tried.products().multiply(set_of_rows, numbers(y), columns,
                            products.data_ptr<double>(), numbers(f), functions,
                            squares.data_ptr<double>());
  const auto of_width = [&](const at::Tensor& t) {
    return t.narrow(1, 0, width).to(at::kDouble).t();
  };
  expect_near(products, at::mm(some, of_width(y)), tolerance, "products");
  expect_near(squares, at::mm(some.square(), of_width(f)), tolerance, "squares");
}

TEST(RowMatrix, ProductsOfEveryInstructionSetMatchTensors) {
  for (const auto set :
       {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
    for (const std::int64_t width : {1, 16, 33, 2500}) {
      for (const std::int64_t count : {1, 2, 7, 90}) {
        for (const std::int64_t columns : {1, 2, 7, 16}) {
          expect_products_of<float>(set, width, count, columns, 1e-5);
          expect_products_of<double>(set, width, count, columns, 1e-13);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kinflow
