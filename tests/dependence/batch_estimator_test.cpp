// What a training asks of every batch: each structure's way against memory and pairs
// taken one by one, in float64 and in float32.
#include "kinflow/dependence/batch_estimator.h"

#include "kinflow/core/workers.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/row_matrix.h"
#include "problems.h"
#include "tests/random_arrays.h"

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
Array moving(const Array& gradient, const Choices& choices) {
  Array result = gradient.clone();
  for (std::size_t r = 0; r < choices.size(); ++r) {
    if (!choices[r].moves_parameters) result[static_cast<std::int64_t>(r)].zero_();
  }
  return result;
}

// Takes both estimators through some batches of latents that `type` holds exactly.
void expect_same_estimates(const Problem& problem, const Choices& choices,
                           BatchEstimator& tried, nd::ScalarType type, double tolerance,
                           std::int64_t batches, Random& random) {
  const auto oracle = make_composed_estimator(*problem.dependence, choices);
  const Array first = problem.latents.to(type);
  oracle->reset(first.to(nd::kDouble));
  tried.reset(first);
  for (std::int64_t step = 0; step < batches; ++step) {
    const std::int64_t batch = 1 + random.below(problem.rows());
    const Array rows =
        oracle::whole_numbers(random.permutation(problem.rows())).narrow(0, 0, batch);
    const Array latents =
        oracle::normal({problem.replicas(), batch, problem.columns()}, random).to(type);
    const Array& parameters = problem.parameters;
    const std::string what = problem.text() + ", batch of " + std::to_string(batch);
    expect_near(
        tried.precision_rows(parameters, rows, latents).to(nd::kDouble),
        oracle->precision_rows(parameters, rows, latents.to(nd::kDouble)).contiguous(),
        tolerance, what);
    expect_near(moving(tried.parameter_gradient(parameters), choices),
                moving(oracle->parameter_gradient(parameters), choices), tolerance,
                what + ": gradient");
    ASSERT_EQ(tried.latents().defined(), oracle->latents().defined()) << what;
    if (!tried.latents().defined()) continue;
    EXPECT_TRUE(nd::equal(tried.latents().to(nd::kDouble), oracle->latents())) << what;
  }
}

TEST(BatchEstimator, EqualsMemoryAndPairsOfEveryStructure) {
  Random random(61);
  for (const Problem& problem : oracle::random_problems()) {
    for (const Choices& choices : kMixtures) {
      // Parameters that do not exist cannot move.
      if (problem.parameter_count == 0 && choices[0].needs_memory) continue;
      const auto tried = problem.dependence->make_estimator(choices, nd::kDouble);
      expect_same_estimates(problem, choices, *tried, nd::kDouble, oracle::kTolerance,
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
  const Blocks blocks(nd::arange(12) % 5);
  const auto estimator = blocks.make_estimator({kMemory}, nd::kFloat);
  estimator->reset(normal_array({1, 12, 3}));
  const auto before = estimator->latents();
  const auto latents = normal_array({1, 12, 3});
  estimator->reset(latents);
  EXPECT_TRUE(estimator->latents().is_same(before));
  EXPECT_TRUE(nd::equal(before, latents));
  const auto again = blocks.make_estimator({kMemory}, nd::kFloat);
  again->reset(latents);
  const auto parameters = nd::full({1, blocks.parameter_count()}, 0.4, nd::kDouble);
  const auto rows = nd::arange(4);
  const auto batch = normal_array({1, 4, 3});
  EXPECT_TRUE(nd::equal(estimator->precision_rows(parameters, rows, batch),
                        again->precision_rows(parameters, rows, batch)));
}

TEST(RelationshipEstimator, OfManyRowsEqualsMemoryAndPairs) {
  Random random(63);
  for (const Problem& problem : large_relationships()) {
    for (const Choices& choices : kMixtures) {
      const Relationship& law = relationship_of(problem);
      expect_same_estimates(problem, choices, *law.make_estimator(choices, nd::kDouble),
                            nd::kDouble, oracle::kTolerance, 3, random);
      expect_same_estimates(problem, choices,
                            *law.make_array_estimator(choices, nd::kDouble),
                            nd::kDouble, oracle::kTolerance, 3, random);
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
      expect_same_estimates(problem, choices, *law.make_estimator(choices, nd::kFloat),
                            nd::kFloat, kSinglePrecision, 6, random);
      expect_same_estimates(problem, choices,
                            *law.make_array_estimator(choices, nd::kFloat), nd::kFloat,
                            kSinglePrecision, 6, random);
    }
  }
}

// Rows and gradients of some batches, [steps][R, ...] for all.
std::vector<Array> estimates(const Relationship& law, const Choices& choices,
                             const Array& parameters, const Array& latents,
                             const Array& batches) {
  const auto estimator = law.make_estimator(choices, latents.scalar_type());
  estimator->reset(latents);
  std::vector<Array> result;
  Random random(65);
  for (std::int64_t step = 0; step < batches.size(0); ++step) {
    const Array rows = oracle::whole_numbers(random.permutation(law.rows()))
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
  for (const auto type : {nd::kFloat, nd::kDouble}) {
    const Array latents = problem.latents.to(type);
    const Array batches = oracle::normal({2, 3, 301, 2}, random)
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
          EXPECT_TRUE(nd::equal(together[i].narrow(0, r, 1), alone[i]))
              << "replica " << r << ", result " << i;
          EXPECT_TRUE(nd::equal(together[i], threads[i])) << "result " << i;
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
  const Array matrix = oracle::normal({kMatrixRows, width}, random);
  const RowMatrix<Real> tried(matrix.data_ptr<double>(), kMatrixRows, width, set);
  const Array rows =
      oracle::whole_numbers(random.permutation(kMatrixRows)).narrow(0, 0, count);
  const Array some = matrix.index_select(0, rows);
  constexpr auto kType = nd::CppTypeToScalarType<Real>::value;
  const auto numbers = [](const Array& t) { return t.data_ptr<Real>(); };
  const auto set_of_rows = tried.rows(rows.data_ptr<std::int64_t>(), count);

  const Array x = oracle::normal({count, columns}, random).to(kType);
  Array sums = nd::zeros({columns, tried.stride()}, kType);
  tried.products().add_transposed(set_of_rows, 0, tried.stride(), numbers(x), columns,
                                  numbers(sums));
  expect_near(sums.narrow(1, 0, width).to(nd::kDouble).t().contiguous(),
              nd::mm(some.t(), x.to(nd::kDouble)), tolerance, "transposed");

  const std::int64_t functions = columns + 1;
  const Array y = oracle::normal({columns, tried.stride()}, random).to(kType);
  const Array f = oracle::normal({functions, tried.stride()}, random).to(kType);
  Array products = nd::empty({count, columns}, nd::kDouble);
  Array squares = nd::empty({count, functions}, nd::kDouble);
  tried.products().multiply(set_of_rows, numbers(y), columns,
                            products.data_ptr<double>(), numbers(f), functions,
                            squares.data_ptr<double>());
  const auto of_width = [&](const Array& t) {
    return t.narrow(1, 0, width).to(nd::kDouble).t();
  };
  expect_near(products, nd::mm(some, of_width(y)), tolerance, "products");
  expect_near(squares, nd::mm(some.square(), of_width(f)), tolerance, "squares");
}

TEST(RowMatrix, ProductsOfEveryInstructionSetMatchThoseOfArrays) {
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
