// The replicas of a fit: what each is given, and what training them together changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/folded_training.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

/// A request for so many replicas of a relationship, with defaults.
FitRequest request_for(std::int64_t replicas, Estimator estimator = Estimator::hybrid) {
  FitRequest request;
  request.data.table = "t.csv";
  request.data.dependence.group = "g";
  request.train.estimator = estimator;
  request.train.seed = 77;
  request.replicas = {.count = replicas,
                      .learning_rates = {0.02, 0.04},
                      .weight_decays = {0.1, 0.2},
                      .memory_shares = {0.3, 0.4, 0.5},
                      .starts = {0.6, 0.7}};
  return with_defaults(request);
}

TEST(PlanReplicas, TheFirstHasTheFirstValuesAndTheSeedOfTheRequest) {
  const auto first = plan_replicas(request_for(5)).front();
  EXPECT_EQ(first.weights_seed, 77u);
  EXPECT_EQ(first.options.seed, 77u);
  EXPECT_EQ(first.options.weight_decay, 0.1);
  EXPECT_EQ(first.options.memory_share, 0.3);
  EXPECT_EQ(first.options.start, 0.6);
  EXPECT_EQ(first.options.learning_rate, 0.02);
}

TEST(PlanReplicas, ValuesAreTakenInTurnTheLearningRatesFirst) {
  const auto plans = plan_replicas(request_for(28));
  ASSERT_EQ(plans.size(), 28u);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& options = plans[i].options;
    EXPECT_EQ(options.learning_rate, i % 2 == 0 ? 0.02 : 0.04);
    EXPECT_EQ(options.weight_decay, i / 2 % 2 == 0 ? 0.1 : 0.2);
    EXPECT_EQ(options.memory_share, (std::vector{0.3, 0.4, 0.5})[i / 4 % 3]);
    EXPECT_EQ(options.start, i / 12 % 2 == 0 ? 0.6 : 0.7);
  }
}

TEST(PlanReplicas, SharesOfMemoryAreForTheHybridEstimatorOnly) {
  for (const auto estimator : {Estimator::memory, Estimator::pairs}) {
    const auto plans = plan_replicas(request_for(8, estimator));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      EXPECT_EQ(plans[i].options.memory_share, 0.3);
      EXPECT_EQ(plans[i].options.weight_decay, i / 2 % 2 == 0 ? 0.1 : 0.2);
      EXPECT_EQ(plans[i].options.start, i / 4 % 2 == 0 ? 0.6 : 0.7);
    }
  }
}

TEST(PlanReplicas, WeightsDifferAndTheOrderOfRowsIsCommon) {
  std::set<std::uint64_t> seeds;
  for (const auto& plan : plan_replicas(request_for(1000))) {
    seeds.insert(plan.weights_seed);
    EXPECT_EQ(plan.options.seed, 77u);
  }
  EXPECT_EQ(seeds.size(), 1000u);
}

TEST(PlanReplicas, MoreOfThemBeginWithTheSameOnes) {
  const auto few = plan_replicas(request_for(3)), many = plan_replicas(request_for(9));
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].weights_seed, many[i].weights_seed);
    EXPECT_EQ(few[i].options.weight_decay, many[i].options.weight_decay);
    EXPECT_EQ(few[i].options.memory_share, many[i].options.memory_share);
  }
}

TEST(PlanReplicas, ThereAreEightUnlessAGridHasValuesToTry) {
  FitRequest request;
  request.data.table = "t.csv";
  request.data.dependence.group = "g";
  const auto joint = with_defaults(request);
  EXPECT_EQ(plan_replicas(joint).size(), 8u);
  EXPECT_EQ(plan_replicas(joint)[0].options.start, 0.3);
  EXPECT_EQ(plan_replicas(joint)[1].options.learning_rate, 0.03);
  EXPECT_EQ(plan_replicas(joint)[2].options.weight_decay, 0.01);
  request.train.schedule = Schedule::grid;
  EXPECT_EQ(plan_replicas(with_defaults(request)).size(), 1u);
  request.data.dependence = {};
  request.data.dependence.relationships = {"g.npy"};
  request.data.dependence.id = {"id"};
  request.train = default_train_options(request.data.dependence);
  const auto related = plan_replicas(with_defaults(request));
  ASSERT_EQ(related.size(), 8u);
  EXPECT_EQ(related[0].options.start, 0.5);
  EXPECT_EQ(related[0].options.memory_share, 0.25);
  EXPECT_EQ(related[2].options.memory_share, 0);
}

TEST(PlanReplicas, TheDependenceLearnsAtTheSamePaceInAll) {
  for (const auto& plan : plan_replicas(request_for(4))) {
    EXPECT_DOUBLE_EQ(plan.options.learning_rate * plan.options.dependence_rate, 0.2);
  }
}

TEST(PlanReplicas, ListsWithoutValuesGetThoseOfTheEstimator) {
  auto request = request_for(2);
  request.replicas = {};
  const auto noisy = with_defaults(request).replicas;
  request.train.estimator = Estimator::memory;
  const auto quiet = with_defaults(request).replicas;
  EXPECT_EQ(noisy.learning_rates, (std::vector{0.01, 0.03}));
  EXPECT_EQ(noisy.weight_decays, (std::vector{0.001}));
  EXPECT_EQ(quiet.weight_decays, (std::vector{0.001, 0.01}));
  EXPECT_EQ(quiet.count, kDefaultReplicas);
}

TEST(PlanReplicas, TooManyAreRefused) {
  auto request = request_for(2);
  request.replicas.count = kMostReplicas + 1;
  EXPECT_THROW(with_defaults(request), InputError);
}

class FitReplicas : public testing::Test {
 protected:
  /// A table of rows in blocks of four that have a part in common.
  std::string write_blocks(const std::string& name, int rows, std::uint64_t seed) {
    Random random(seed);
    std::string text = "x1,x2,group\n";
    double shared = 0;
    for (int i = 0; i < rows; ++i) {
      if (i % 4 == 0) shared = random.normal();
      const double a = 0.8 * shared + 0.6 * random.normal();
      text += std::to_string(a) + "," + std::to_string(std::abs(a) + random.normal()) +
              ",g" + std::to_string(i / 4) + "\n";
    }
    return folder_.write(name, text);
  }

  FitRequest small_request(std::int64_t replicas) {
    FitRequest request;
    request.data.table = write_blocks("train.csv", 400, 1);
    request.data.valid_table = write_blocks("valid.csv", 150, 2);
    request.data.dependence.group = "group";
    request.flow.hidden = {8};
    request.flow.bins = 4;
    request.train.epochs = 6;
    request.train.batch_size = 64;
    request.train.seed = 5;
    request.replicas.count = replicas;
    return request;
  }

  FitResult fit_into(const FitRequest& request, const std::string& name) {
    return fit(request, {.directory = folder_.path(name)}, silent_);
  }

  const TemporaryFolder folder_;
  Logger silent_;
};

TEST_F(FitReplicas, TheFirstOfThreeIsTheTrainingOfOneBitForBit) {
  for (const bool calibrates : {true, false}) {
    auto request = small_request(1);
    request.calibrate = calibrates;
    FoldedTraining training_alone({with_defaults(request)}, silent_);
    request.replicas.count = 3;
    FoldedTraining training_together({with_defaults(request)}, silent_);
    auto &alone = training_alone.groups().of(0, 0),
         &together = training_together.groups().of(0, 0);
    while (!alone.trainer().finished()) alone.trainer().run_epoch();
    while (!together.trainer().finished()) together.trainer().run_epoch();
    std::vector<EpochRecord> first;
    for (const auto& record : together.history(0)) {
      if (record.replica == 0) first.push_back(record);
    }
    const auto own = alone.history(0);
    ASSERT_EQ(first.size(), own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(first[i].epoch, own[i].epoch);
      EXPECT_EQ(first[i].valid_nll_nats, own[i].valid_nll_nats);
      EXPECT_EQ(first[i].learning_rate, own[i].learning_rate);
      EXPECT_EQ(first[i].typical_parameter, own[i].typical_parameter);
      if (i == 0) continue;  // nothing is trained before the first epoch
      EXPECT_EQ(first[i].train_nll_nats, own[i].train_nll_nats);
    }
    EXPECT_EQ(together.trainer().best_valid_nll(0), alone.trainer().best_valid_nll(0));
  }
}

TEST_F(FitReplicas, DifferInTheirWeightsAndTheBestIsKept) {
  const auto result = fit_into(small_request(4), "run");
  FoldedTraining training({with_defaults(small_request(4))}, silent_);
  auto& group = training.groups().of(0, 0);
  std::vector<double> best(4, HUGE_VAL);
  while (!group.trainer().finished()) group.trainer().run_epoch();
  for (const auto& record : group.history(0)) {
    auto& own = best[static_cast<std::size_t>(record.replica)];
    own = std::min(own, record.valid_nll_nats);
  }
  EXPECT_EQ(std::set<double>(best.begin(), best.end()).size(), 4u);
  const auto lowest = std::min_element(best.begin(), best.end());
  EXPECT_EQ(result.model.record["best_replica"].get<std::ptrdiff_t>(),
            lowest - best.begin());
  EXPECT_EQ(result.valid_nll_nats, *lowest);
  EXPECT_EQ(result.model.members(), 1);
}

TEST_F(FitReplicas, OfAGridAreSoManyForEachValue) {
  auto request = small_request(2);
  request.train.schedule = Schedule::grid;
  request.train.grid = {0.2, 0.5, 0.8};
  FoldedTraining training({with_defaults(request)}, silent_);
  auto& group = training.groups().of(0, 0);
  EXPECT_EQ(group.trainer().replicas(), 6);
  const auto& history = group.trainer().history();
  for (std::size_t r = 0; r < 6; ++r) {
    EXPECT_NEAR(history[r].typical_parameter, request.train.grid[r % 3], 1e-12);
  }
}

}  // namespace
}  // namespace kinflow
