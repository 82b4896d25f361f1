// Blocks of one replica on plain arrays against the computations of their laws.
#include "kinflow/dependence/block_replica.h"

#include "kinflow/core/error.h"
#include "problems.h"

namespace kinflow {
namespace {

using oracle::expect_near;

constexpr std::int64_t kColumns[] = {1, 2, 5};
constexpr double kShares[] = {0, 0.3, 1};

// Rounding of results that are given in Real; sums and gradients are always float64.
template <typename Real>
constexpr double kRowTolerance = std::is_same_v<Real, float> ? 3e-7 : 1e-12;
constexpr double kReplicaTolerance = 1e-11;

template <typename Real>
Array cast(const Array& array) {
  return array.to(nd::CppTypeToScalarType<Real>::value).contiguous();
}

std::vector<oracle::Problem> block_problems(std::int64_t columns) {
  std::vector<oracle::Problem> problems;
  Random random(static_cast<std::uint64_t>(columns));
  const std::vector<std::vector<std::int64_t>> sizes = {
      {1}, {2}, {1, 1, 1}, {5, 1, 2, 3, 1}, {20, 1, 1, 7, 2, 9}, {13, 4, 4, 4, 1}};
  for (const auto& of_blocks : sizes) {
    for (const auto correlation :
         {BlockCorrelation::shared, BlockCorrelation::per_block,
          BlockCorrelation::per_size}) {
      auto problem = oracle::blocks_problem(of_blocks, correlation, random);
      problems.push_back(oracle::per_latent_problem(problem, columns));
      if (correlation == BlockCorrelation::per_block) {
        problems.push_back(oracle::effects_problem(problem, columns));
      }
      problems.push_back(std::move(problem));
    }
  }
  for (auto& problem : problems) {
    problem.parameters =
        oracle::uniform({1, problem.parameter_count}, 0.02, 0.98, random);
    problem.latents = oracle::normal({1, problem.dependence->rows(), columns}, random);
  }
  return problems;
}

// Both versions through the same resets and updates.
template <typename Real>
class Pair {
 public:
  explicit Pair(const oracle::Problem& problem)
      : problem_(problem),
        blocks_(*problem.dependence),
        arrays_(blocks_),
        replica_(arrays_, problem.columns()),
        memory_(blocks_.make_memory()),
        remembered_(cast<Real>(problem.latents)) {
    memory_->reset(remembered_);
    set_parameters(problem.parameters);
    replica_.reset(remembered_.template data_ptr<Real>());
  }

  void set_parameters(const Array& parameters) {
    parameters_ = parameters.clone();
    replica_.set_parameters(parameters_.data_ptr<double>());
  }

  void take_batch(Random& random, std::int64_t count) {
    rows_ = oracle::whole_numbers(random.permutation(problem_.rows()))
                .narrow(0, 0, count)
                .contiguous();
    latents_ = cast<Real>(oracle::normal({1, count, problem_.columns()}, random));
  }

  void update() {
    memory_->update(rows_, latents_);
    replica_.update(batch(), remembered_.template data_ptr<Real>());
  }

  void expect_log_det() {
    expect_near(nd::full({1}, replica_.log_det(), nd::kDouble),
                blocks_.log_det(parameters_), kReplicaTolerance, problem_.text());
  }

  void expect_rows(double share) {
    auto rows = nd::full_like(latents_, 77);
    replica_.precision_rows(batch(), share, rows.template data_ptr<Real>());
    const auto pairs = blocks_.pairs_rows(parameters_, rows_, latents_);
    const auto remembered = memory_->precision_rows(parameters_, rows_);
    expect_near(rows.to(nd::kDouble), (1 - share) * pairs + share * remembered,
                kRowTolerance<Real>, problem_.text());
  }

  void expect_gradient() {
    auto gradient = nd::full_like(parameters_, 77);
    replica_.gradient(gradient.template data_ptr<double>());
    expect_near(gradient, memory_->parameter_gradient(parameters_), kReplicaTolerance,
                problem_.text());
  }

  void expect_pairs_gradient() {
    auto gradient = nd::full_like(parameters_, 77);
    replica_.pairs_gradient(batch(), gradient.template data_ptr<double>());
    expect_near(gradient,
                blocks_.pairs_parameter_gradient(parameters_, rows_, latents_),
                kReplicaTolerance, problem_.text());
  }

  bool remembers_the_same() const { return remembered_.equal(memory_->latents()); }

 private:
  BatchRows<Real> batch() const {
    return {rows_.data_ptr<std::int64_t>(), rows_.size(0),
            latents_.template data_ptr<Real>()};
  }

  const oracle::Problem& problem_;
  const Dependence& blocks_;
  BlockArrays arrays_;
  BlockReplica replica_;
  std::unique_ptr<LatentMemory> memory_;
  Array remembered_, parameters_, rows_, latents_;
};

template <typename Real>
class BlockReplicaTest : public testing::Test {
 protected:
  // Calls check(pair) after each of several updates of random batches, with parameters
  // that move between them.
  template <typename Check>
  void after_updates(const Check& check) {
    Random random(5);
    for (const auto columns : kColumns) {
      for (const auto& problem : block_problems(columns)) {
        Pair<Real> pair(problem);
        for (int step = 0; step < 8; ++step) {
          pair.take_batch(random, 1 + random.below(problem.rows()));
          pair.update();
          pair.set_parameters(
              oracle::uniform({1, problem.parameter_count}, 0.02, 0.98, random));
          check(pair);
        }
      }
    }
  }
};

using Arithmetics = testing::Types<float, double>;
TYPED_TEST_SUITE(BlockReplicaTest, Arithmetics);

TYPED_TEST(BlockReplicaTest, LogDetIsThatOfTheLaw) {
  this->after_updates([](auto& pair) { pair.expect_log_det(); });
}

TYPED_TEST(BlockReplicaTest, PrecisionRowsMixMemoryAndPairs) {
  this->after_updates([](auto& pair) {
    for (const double share : kShares) pair.expect_rows(share);
  });
}

TYPED_TEST(BlockReplicaTest, GradientIsThatOfTheMemory) {
  this->after_updates([](auto& pair) { pair.expect_gradient(); });
}

TYPED_TEST(BlockReplicaTest, PairsGradientIsThatOfTheLaw) {
  this->after_updates([](auto& pair) { pair.expect_pairs_gradient(); });
}

TYPED_TEST(BlockReplicaTest, UpdatesOverwriteTheRememberedLatents) {
  this->after_updates([](auto& pair) { EXPECT_TRUE(pair.remembers_the_same()); });
}

TYPED_TEST(BlockReplicaTest, PairsNeedNoMemory) {
  // Neither reset() nor update(): the sums of the memory hold nothing that counts.
  Random random(6);
  for (const auto& problem : block_problems(2)) {
    const BlockArrays arrays(*problem.dependence);
    BlockReplica replica(arrays, 2);
    replica.set_parameters(problem.parameters.template data_ptr<double>());
    for (int step = 0; step < 3; ++step) {
      const auto count = 1 + random.below(problem.rows());
      const auto rows = oracle::whole_numbers(random.permutation(problem.rows()))
                            .narrow(0, 0, count)
                            .contiguous();
      const auto latents = cast<TypeParam>(oracle::normal({1, count, 2}, random));
      auto result = nd::empty_like(latents);
      replica.precision_rows(
          BatchRows<TypeParam>{rows.template data_ptr<std::int64_t>(), count,
                               latents.template data_ptr<TypeParam>()},
          0, result.template data_ptr<TypeParam>());
      expect_near(result.to(nd::kDouble),
                  problem.dependence->pairs_rows(problem.parameters, rows, latents),
                  kRowTolerance<TypeParam>, problem.text());
    }
  }
}

TEST(BlockArrays, DescribeTheBlocks) {
  const Blocks blocks(nd::tensor({4, 9, 4, -3, 4, 9, 0}, nd::kLong));
  const BlockArrays arrays(blocks);
  EXPECT_EQ(arrays.rows(), 7);
  EXPECT_EQ(arrays.blocks(), 4);
  EXPECT_EQ(arrays.parameters, 2);
  EXPECT_EQ(arrays.block_of_row, (std::vector<std::int64_t>{2, 3, 2, 0, 2, 3, 1}));
  EXPECT_EQ(arrays.other_rows, (std::vector<double>{0, 0, 2, 1}));
  EXPECT_EQ(arrays.parameter_of_block, (std::vector<std::int64_t>{-1, -1, 0, 1}));
  EXPECT_EQ(arrays.latents, 1);
}

TEST(BlockArrays, PutBlocksOfASizeAndAParameterIntoOneClass) {
  const Array labels = nd::tensor({0, 0, 1, 1, 2, 2, 2, 3, 4}, nd::kLong);
  const auto law =
      make_blocks(labels, {.correlation = BlockCorrelation::per_latent, .columns = 3});
  const BlockArrays arrays(*law);
  EXPECT_EQ(arrays.class_of_block, (std::vector<std::int64_t>{0, 0, 1, 2, 2}));
  EXPECT_EQ(arrays.class_blocks, (std::vector<double>{2, 1, 2}));
  EXPECT_EQ(arrays.parameters, 3);
  EXPECT_EQ(arrays.latents, 3);
}

TEST(BlockArrays, RefuseLawsOfOtherKindsAndPooledCorrelations) {
  EXPECT_THROW(BlockArrays(Independent(3)), InputError);
  EXPECT_THROW(
      BlockArrays(Blocks(nd::tensor({0, 0}, nd::kLong), {BlockCorrelation::pooled, 1})),
      InputError);
}

}  // namespace
}  // namespace kinflow
