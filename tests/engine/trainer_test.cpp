// The training step against a dense oracle, stopping, recovery, and exact resumption.
#include "kinflow/engine/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/independent.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/dependence/unstructured.h"
#include "kinflow/fit/late_best.h"
#include "tests/flow/plain_flow.h"

namespace kinflow {
namespace {

Array normal(nd::IntArrayRef shape, std::uint64_t seed, double scale = 1) {
  auto values = nd::empty(shape, nd::kDouble);
  Random random(seed);
  auto* out = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) out[i] = scale * random.normal();
  return values;
}

const FlowOptions kSmallFlow{.dimension = 2, .hidden = {8}, .bins = 4};

Array some_blocks(std::int64_t rows) {
  std::vector<std::int64_t> block;
  for (std::int64_t i = 0; i < rows; ++i) block.push_back(i % 7 == 0 ? 100 + i : i % 4);
  return nd::tensor(block, nd::kLong);
}

Array some_relationship(std::int64_t rows) {
  const auto factor = normal({rows, rows}, 31);
  const auto product = factor.matmul(factor.t());
  const auto scale = product.diagonal().rsqrt();
  return product * scale.unsqueeze(0) * scale.unsqueeze(1);
}

// Gradient [P] in the values of a replica of -log p(X), where the columns of latents
// have this precision matrix: every operation, dense algebra included, is recorded.
Array dense_gradient(const Flow& flow, std::int64_t replica, const Array& data,
                     const Array& precision) {
  const test::PlainFlow<double> plain(flow, replica);
  test::Recorded<double> nll;
  std::vector<std::vector<test::Recorded<double>>> latents;
  for (std::int64_t row = 0; row < data.size(0); ++row) {
    auto result = plain.to_latent(test::constants<double>(data, row), {});
    nll += -result.log_abs_det;
    latents.push_back(std::move(result.latents));
  }
  const auto dense = precision.contiguous();
  const auto* weight = dense.data_ptr<double>();
  for (const auto& one : latents) {
    for (const auto& other : latents) {
      const double half = 0.5 * *weight++;
      for (std::size_t i = 0; i < one.size(); ++i) nll += half * one[i] * other[i];
    }
  }
  const auto slopes = nll.slopes();
  return nd::tensor(
      std::vector<double>(slopes.begin(), slopes.begin() + flow.values().size(1)));
}

// One full batch of the memory estimator changes the weights along the gradient of the
// exact objective: -log p(X) / n by dense algebra.
void expect_step_follows_the_dense_gradient(const Dependence& law, double start) {
  const std::int64_t rows = law.rows();
  const auto data = normal({rows, 2}, 1);
  const TrainOptions options{{.epochs = 1, .batch_size = rows, .prior = 0},
                             {.learning_rate = 0, .weight_decay = 0}};
  Flow flow(kSmallFlow, {1, 2}, nd::kDouble);
  Flow oracle(kSmallFlow, {1, 2}, nd::kDouble);
  const auto parameters = nd::full({2, law.parameter_count()}, start, nd::kDouble);
  Trainer trainer(flow, law, {.train = data, .valid = data}, options, parameters);
  trainer.run_epoch();

  const auto exact = nd::zeros_like(oracle.values());
  for (std::int64_t replica = 0; replica < 2; ++replica) {
    const auto result = oracle.to_latent(data.unsqueeze(0).expand({2, rows, 2}));
    const auto covariance = law.covariance(parameters[replica])[0];
    const auto latents = result.latents[replica];
    const auto nll = 0.5 * (latents * nd::linalg_solve(covariance, latents)).sum() +
                     std::get<1>(nd::linalg_slogdet(covariance)) +
                     static_cast<double>(rows) * std::log(2 * M_PI) -
                     result.log_abs_det[replica].sum();
    const auto mean = nll / static_cast<double>(rows);
    exact[replica].copy_(
        dense_gradient(oracle, replica, data, nd::linalg_inv(covariance)) /
        static_cast<double>(rows));
    EXPECT_NEAR(trainer.history()[static_cast<std::size_t>(2 + replica)].train_nll_nats,
                mean.item<double>(), 1e-10);
  }
  // After one step without decay the first moment is a tenth of the gradient.
  const auto gradient = 10 * trainer.state().at("flow.first_moment");
  EXPECT_LT((gradient - exact).abs().max().item<double>(), 1e-10);
  if (law.parameter_count() == 0) return;
  const auto latents = oracle.to_latent(data.unsqueeze(0).expand({2, rows, 2})).latents;
  const auto expected = law.unconstrained_gradient(
                            parameters, law.parameter_gradient(parameters, latents)) /
                        static_cast<double>(rows);
  const auto moved = 10 * trainer.state().at("dependence.first_moment");
  EXPECT_LT((moved - expected).abs().max().item<double>(), 1e-10);
}

TEST(Trainer, StepFollowsTheDenseGradientForBlocks) {
  expect_step_follows_the_dense_gradient(Blocks(some_blocks(30)), 0.4);
}

TEST(Trainer, StepFollowsTheDenseGradientForARelationship) {
  expect_step_follows_the_dense_gradient(Relationship(some_relationship(25)), 0.6);
}

TEST(Trainer, StepFollowsTheDenseGradientForIndependentRows) {
  expect_step_follows_the_dense_gradient(Independent(20), 0.5);
}

// Over all batches of two rows, the pairs estimator's flow gradient averages to the one
// of the whole data: with n/b sums of batches, as Proposition 1 says.
TEST(Trainer, PairsGradientIsUnbiasedOverAllBatches) {
  const std::int64_t rows = 6;
  const Blocks law(nd::tensor({5, 5, 9, 5, 9, 2}, nd::kLong));
  const auto parameters = nd::full({1, 2}, 0.6, nd::kDouble);
  const auto data = normal({1, rows, 2}, 3);
  Flow flow(kSmallFlow, {1}, nd::kDouble);
  const auto gradient = [&](const Array& which, const Array& pull) {
    const double share = 1 / static_cast<double>(which.size(0));
    return test::plain_gradient(flow, data.index_select(1, which), {}, pull * share,
                                -share);
  };
  const auto latents = flow.to_latent(data).latents;
  const auto exact =
      gradient(nd::arange(rows), law.precision_times(parameters, latents));
  for (const std::int64_t size : {2, 3}) {
    auto sum = nd::zeros_like(exact);
    std::int64_t batches = 0;
    for (std::int64_t mask = 0; mask < (1 << rows); ++mask) {
      std::vector<std::int64_t> which;
      for (std::int64_t i = 0; i < rows; ++i) {
        if ((mask >> i & 1) != 0) which.push_back(i);
      }
      if (static_cast<std::int64_t>(which.size()) != size) continue;
      const auto index = nd::tensor(which, nd::kLong);
      sum += gradient(
          index, law.pairs_rows(parameters, index, latents.index_select(1, index)));
      ++batches;
    }
    const auto difference = (sum / static_cast<double>(batches) - exact).abs().max();
    EXPECT_LT(difference.item<double>(), 1e-12);
  }
}

// The gradient of one full batch, from the optimiser's first moment.
NamedTensors state_after_one_step(const Dependence& law, TrainOptions options) {
  options.epochs = 1;
  options.batch_size = 10;
  options.learning_rate = 0;
  options.weight_decay = 0;
  Flow flow(kSmallFlow, {1}, nd::kDouble);
  const auto data = normal({law.rows(), 2}, 1);
  Trainer trainer(flow, law, {.train = data, .valid = data}, options,
                  nd::full({1, law.parameter_count()}, 0.2, nd::kDouble));
  trainer.run_epoch();
  return trainer.state();
}

TEST(Trainer, HybridMixesPairsAndMemoryForTheFlow) {
  const Blocks law(some_blocks(20));
  const auto moment = [&](Estimator estimator, double share) {
    return state_after_one_step(law,
                                {{.estimator = estimator}, {.memory_share = share}})
        .at("flow.first_moment");
  };
  const auto pairs = moment(Estimator::pairs, 0), memory = moment(Estimator::memory, 0);
  EXPECT_GT((pairs - memory).abs().max().item<double>(), 1e-6);
  EXPECT_TRUE(nd::allclose(moment(Estimator::hybrid, 0), pairs, 0, 1e-14));
  EXPECT_TRUE(nd::allclose(moment(Estimator::hybrid, 0.25),
                           0.75 * pairs + 0.25 * memory, 0, 1e-12));
}

TEST(Trainer, PriorAddsTheGradientOfABetaDensity) {
  const Blocks law(some_blocks(20));
  const auto moment = [&](double prior) {
    return state_after_one_step(law, {{.prior = prior}, {}})
        .at("dependence.first_moment");
  };
  // Two steps of half the rows; the moment is 0.1 (0.9 + 1) times the constant
  // addition.
  const auto added = moment(3) - moment(0);
  const double expected = -3 * (1 - 2 * 0.2) / 20 * 0.1 * 1.9;
  EXPECT_LT((added - expected).abs().max().item<double>(), 1e-12);
}

struct Way {
  Schedule schedule;
  Estimator estimator;
};

TEST(Trainer, RestoredStateGoesOnToTheSameNumbers) {
  const auto data = normal({70, 2}, 5).to(nd::kFloat);
  const auto valid = normal({40, 2}, 6).to(nd::kFloat);
  const Blocks law(some_blocks(70));
  for (const auto& [schedule, estimator] :
       {Way{Schedule::joint, Estimator::memory}, Way{Schedule::joint, Estimator::pairs},
        Way{Schedule::joint, Estimator::hybrid},
        Way{Schedule::alternating, Estimator::memory},
        Way{Schedule::grid, Estimator::memory}}) {
    const TrainOptions options{{.schedule = schedule,
                                .estimator = estimator,
                                .epochs = 7,
                                .batch_size = 16,
                                .stage_epochs = 2},
                               {}};
    const auto start = nd::full({2, law.parameter_count()}, 0.3, nd::kDouble);
    Flow whole_flow(kSmallFlow, {1, 2});
    Trainer whole(whole_flow, law, {.train = data, .valid = valid}, options, start);
    while (!whole.finished()) whole.run_epoch();

    NamedTensors saved;
    {
      Flow flow(kSmallFlow, {1, 2});
      Trainer trainer(flow, law, {.train = data, .valid = valid}, options, start);
      for (int i = 0; i < 3; ++i) trainer.run_epoch();
      saved = trainer.state();
    }
    Flow flow(kSmallFlow, {8, 9});
    Trainer resumed(flow, law, {.train = data, .valid = valid}, options, start);
    resumed.restore(saved);
    while (!resumed.finished()) resumed.run_epoch();

    EXPECT_TRUE(nd::equal(flow.values(), whole_flow.values()));
    EXPECT_TRUE(nd::equal(resumed.best_parameters(1), whole.best_parameters(1)));
    ASSERT_EQ(resumed.history().size(), whole.history().size());
    for (std::size_t i = 0; i < whole.history().size(); ++i) {
      EXPECT_EQ(resumed.history()[i].valid_nll_nats, whole.history()[i].valid_nll_nats);
    }
  }
}

TEST(Trainer, StopsWhenPatienceRunsOutAndKeepsTheBestWeights) {
  const auto data = normal({60, 2}, 7).to(nd::kFloat);
  const auto valid = normal({60, 2}, 8).to(nd::kFloat);
  const Independent law(60);
  const TrainOptions options{
      {.schedule = Schedule::baseline, .epochs = 400, .batch_size = 20, .patience = 5},
      {.learning_rate = 0.02, .weight_decay = 0}};
  Flow flow({.dimension = 2, .hidden = {32, 32}}, {1});
  Trainer trainer(flow, law, {.train = data, .valid = valid}, options,
                  nd::empty({1, 0}, nd::kDouble));
  while (!trainer.finished()) trainer.run_epoch();
  EXPECT_LT(trainer.epochs_done(), 400);
  EXPECT_EQ(trainer.epochs_done(), trainer.best_epoch(0) + 5);
  double best = INFINITY;
  for (const auto& record : trainer.history())
    best = std::min(best, record.valid_nll_nats);
  EXPECT_EQ(trainer.best_valid_nll(0), best);
}

TEST(Trainer, HeldOutRowsCountByWhatTheyAreWorth) {
  const Blocks law(some_blocks(40), {BlockCorrelation::shared});
  // Relatives so near that some rows have a negative weight, and blocks of sizes 1
  // to 9.
  const auto near = nd::full({12, 12}, 0.2, nd::kDouble);
  near.diagonal().fill_(1);
  near[0].slice(0, 1, 12).fill_(0.5);
  near.select(1, 0).slice(0, 1, 12).fill_(0.5);
  std::vector<std::int64_t> block_of_row;
  for (std::int64_t size : {1, 2, 9})
    block_of_row.insert(block_of_row.end(), size, size);
  const Blocks blocks(nd::tensor(block_of_row, nd::kLong), {BlockCorrelation::shared});
  const Relationship relatives(near);
  for (const Dependence* valid_law : {static_cast<const Dependence*>(&blocks),
                                      static_cast<const Dependence*>(&relatives)}) {
    Flow flow(kSmallFlow, {1, 2}, nd::kDouble);
    const auto valid = normal({12, 2}, 3);
    const auto start = nd::tensor({0.3, 0.8}, nd::kDouble).unsqueeze(1);
    Trainer trainer(flow, law,
                    {.train = normal({40, 2}, 2),
                     .valid = valid,
                     .valid_law = valid_law,
                     .valid_weights = nd::ones({1, 1}, nd::kDouble)},
                    TrainOptions{}, start);
    EXPECT_EQ(trainer.valid_score(), ValidScore::weighted);
    for (std::int64_t replica = 0; replica < 2; ++replica) {
      const auto worth = nd::linalg_solve(valid_law->covariance(start[replica])[0],
                                          nd::ones({12}, nd::kDouble))
                             .clamp_min(0);
      // A new flow is the identity.
      const auto nll = 0.5 * valid.square().sum(1) + std::log(2 * M_PI);
      EXPECT_NEAR(trainer.history()[static_cast<std::size_t>(replica)].valid_nll_nats,
                  ((worth * nll).sum() / worth.sum()).item<double>(), 1e-10);
    }
  }
}

TEST(Trainer, LearningRateFallsByATenthAtThirtyTwoEqualParts) {
  const auto data = normal({40, 2}, 7);
  const Independent law(40);
  Flow flow(kSmallFlow, {1}, nd::kDouble);
  const TrainOptions options{{.schedule = Schedule::baseline,
                              .epochs = 64,
                              .batch_size = 20,
                              .patience = 1000},
                             {.learning_rate = 0.01}};
  Trainer trainer(flow, law, {.train = data, .valid = data}, options,
                  nd::empty({1, 0}, nd::kDouble));
  while (!trainer.finished()) trainer.run_epoch();
  for (const auto& record : trainer.history()) {
    // Epochs are counted from 1; two of them make one part.
    const std::int64_t parts = std::max<std::int64_t>(0, record.epoch - 1) / 2;
    EXPECT_NEAR(record.learning_rate, 0.01 * std::pow(0.9, parts), 1e-12);
  }
}

TEST(Trainer, ALastBatchOfOneRowJoinsTheOneBefore) {
  // Pairs of a batch of one row would count nothing of the dependence.
  const auto data = normal({21, 2}, 7);
  const Blocks law(some_blocks(21));
  Flow flow(kSmallFlow, {1}, nd::kDouble);
  const TrainOptions options{
      {.estimator = Estimator::pairs, .epochs = 1, .batch_size = 10}, {}};
  Trainer trainer(flow, law, {.train = data, .valid = data}, options,
                  nd::full({1, law.parameter_count()}, 0.3, nd::kDouble));
  trainer.run_epoch();
  EXPECT_EQ(trainer.state().at("flow.steps").item<std::int64_t>(), 2);
}

TEST(Trainer, OneDivergedReplicaDoesNotDisturbTheOthers) {
  const auto data = normal({60, 2}, 9);
  const Independent law(60);
  const TrainOptions options{
      {.schedule = Schedule::baseline, .epochs = 3, .batch_size = 20}, {}};
  const auto none = nd::empty({2, 0}, nd::kDouble);
  Flow sound(kSmallFlow, {1, 2}, nd::kDouble), broken(kSmallFlow, {1, 2}, nd::kDouble);
  Trainer sound_trainer(sound, law, {.train = data, .valid = data}, options, none);
  Trainer trainer(broken, law, {.train = data, .valid = data}, options, none);
  broken.values()[1].fill_(std::nan(""));
  while (!trainer.finished()) trainer.run_epoch();
  while (!sound_trainer.finished()) sound_trainer.run_epoch();
  EXPECT_TRUE(nd::equal(broken.values()[0], sound.values()[0]));
  EXPECT_GT(trainer.skipped_steps(), 0);
  EXPECT_EQ(trainer.restarts(0), 0);
  EXPECT_EQ(trainer.restarts(1), 1);
  EXPECT_TRUE(trainer.take_warnings().empty());
  EXPECT_TRUE(nd::isfinite(broken.values()).all().item<bool>());
  EXPECT_TRUE(std::isfinite(trainer.best_valid_nll(1)));
}

TEST(Trainer, ItsEarliestEndIsWherePatienceRunsOut) {
  const auto data = normal({60, 2}, 9);
  const Independent law(60);
  const TrainOptions options{
      {.schedule = Schedule::baseline, .epochs = 40, .batch_size = 20, .patience = 4},
      {.learning_rate = 0.03}};
  Flow flow(kSmallFlow, {1, 2}, nd::kDouble);
  Trainer trainer(flow, law, {.train = data, .valid = normal({40, 2}, 10)}, options,
                  nd::empty({2, 0}, nd::kDouble));
  EXPECT_EQ(trainer.earliest_end(), 4);
  std::int64_t said = 0;
  while (!trainer.finished()) {
    EXPECT_GE(trainer.earliest_end(), said);
    said = trainer.earliest_end();
    EXPECT_GT(said, trainer.epochs_done());
    EXPECT_LE(said, 40);
    trainer.run_epoch();
  }
  EXPECT_EQ(trainer.epochs_done(), said);
}

TEST(LateBest, IsNoHintWherePatienceEndedTheTraining) {
  EXPECT_NE(late_best_hint(100, 100, 30), "");
  EXPECT_NE(late_best_hint(96, 100, 30), "");
  EXPECT_EQ(late_best_hint(95, 100, 30), "");
  EXPECT_EQ(late_best_hint(97, 100, 3), "");
  EXPECT_NE(late_best_hint(98, 100, 3), "");
  EXPECT_NE(late_best_hint(1, 1, 30), "");
  EXPECT_EQ(late_best_hint(0, 1, 30), "");
}

TEST(Trainer, AHugeLearningRateRecoversOrSaysSo) {
  const auto data = normal({200, 2}, 9).to(nd::kFloat);
  const Independent law(200);
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    Flow flow({.kind = kind, .dimension = 2}, {1});
    const TrainOptions options{{.schedule = Schedule::baseline,
                                .epochs = 40,
                                .batch_size = 50,
                                .patience = 1000},
                               {.learning_rate = 1e4}};
    Trainer trainer(flow, law, {.train = data, .valid = data}, options,
                    nd::empty({1, 0}, nd::kDouble));
    try {
      while (!trainer.finished()) trainer.run_epoch();
      EXPECT_GT(trainer.restarts(0), 0);
      EXPECT_TRUE(trainer.take_warnings().empty());
    } catch (const NumericalError& error) {
      EXPECT_NE(std::string(error.what()).find("learning-rate"), std::string::npos);
    }
    EXPECT_TRUE(std::isfinite(trainer.best_valid_nll(0)));
    trainer.restore_best();
    EXPECT_TRUE(nd::isfinite(flow.values()).all().item<bool>());
  }
}

TEST(Trainer, JointTrainingFindsTheCorrelationOfNormalBlocks) {
  // Standard normal data in blocks of 8 with correlation 0.5: the flow has nothing to
  // do.
  const std::int64_t rows = 1600;
  const Blocks law(nd::arange(rows).floor_divide(8), {BlockCorrelation::shared});
  Random random(12);
  const auto data = law.sample(nd::tensor({0.5}, nd::kDouble), 2, random);
  const auto valid = normal({2000, 2}, 13);
  Flow flow({.dimension = 2, .hidden = {8}, .bins = 4}, {1});
  const TrainOptions options{{.epochs = 40, .batch_size = 128}, {.start = 0.1}};
  Trainer trainer(flow, law,
                  {.train = data.to(nd::kFloat), .valid = valid.to(nd::kFloat)},
                  options, nd::full({1, 1}, 0.1, nd::kDouble));
  while (!trainer.finished()) trainer.run_epoch();
  EXPECT_NEAR(trainer.history().back().typical_parameter, 0.5, 0.06);
}

TEST(Trainer, AlternatingFindsLambdaOfARelationship) {
  const std::int64_t rows = 400;
  const auto group = nd::arange(rows).floor_divide(4);
  const auto together = group.unsqueeze(0).eq(group.unsqueeze(1)).to(nd::kDouble);
  const Relationship law(together * 0.9 + 0.1 * nd::eye(rows, nd::kDouble));
  Random random(14);
  const auto data = law.sample(nd::tensor({0.4}, nd::kDouble), 2, random);
  Flow flow({.dimension = 2, .hidden = {8}, .bins = 4}, {1});
  const TrainOptions options{{.schedule = Schedule::alternating,
                              .estimator = Estimator::hybrid,
                              .epochs = 8,
                              .batch_size = 64,
                              .stage_epochs = 2},
                             {}};
  Trainer trainer(
      flow, law,
      {.train = data.to(nd::kFloat), .valid = normal({500, 2}, 15).to(nd::kFloat)},
      options, nd::full({1, 1}, 0.9, nd::kDouble));
  while (!trainer.finished()) trainer.run_epoch();
  EXPECT_NEAR(trainer.history().back().typical_parameter, 0.4, 0.1);
}

TEST(Trainer, AStageWithoutAMostLikelyParameterWarnsAndGoesOn) {
  // Two columns determine no covariance of six rows, and there is no prior to help.
  const Unstructured law(6);
  Flow flow(kSmallFlow, {1});
  const TrainOptions options{{.schedule = Schedule::alternating,
                              .epochs = 2,
                              .batch_size = 6,
                              .prior = 0,
                              .stage_epochs = 1},
                             {}};
  const auto start = nd::zeros({1, law.parameter_count()}, nd::kDouble);
  Trainer trainer(flow, law,
                  {.train = normal({6, 2}, 16).to(nd::kFloat),
                   .valid = normal({6, 2}, 17).to(nd::kFloat)},
                  options, start);
  trainer.run_epoch();
  EXPECT_TRUE(trainer.take_warnings().empty());
  trainer.run_epoch();
  const auto warnings = trainer.take_warnings();
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_NE(warnings[0].find("stay as they were"), std::string::npos);
  EXPECT_EQ(trainer.history().back().typical_parameter, 0);
}

TEST(Adamax, MatchesTheFormulasOfThePaperWithCoupledDecay) {
  auto parameters = normal({2, 3}, 20);
  auto expected = parameters.clone();
  Adamax optimizer(parameters);
  auto moment = nd::zeros_like(expected), norm = nd::zeros_like(expected);
  const auto rate = nd::tensor({0.1, 0.01}, nd::kDouble).unsqueeze(1);
  const auto decay = nd::tensor({0.0, 0.5}, nd::kDouble).unsqueeze(1);
  for (int step = 1; step <= 5; ++step) {
    const auto gradient = normal({2, 3}, 30 + static_cast<std::uint64_t>(step));
    optimizer.step(parameters, gradient, rate, decay, nd::ones({2, 1}, nd::kBool));
    const auto decayed = gradient + decay * expected;
    moment = 0.9 * moment + 0.1 * decayed;
    norm = nd::maximum(0.999 * norm, decayed.abs() + 1e-8);
    expected = expected - rate / (1 - std::pow(0.9, step)) * moment / norm;
    EXPECT_LT((parameters - expected).abs().max().item<double>(), 1e-12);
  }
}

TEST(Adamax, InactiveReplicasStayAsTheyAre) {
  auto parameters = normal({2, 3}, 20);
  const auto before = parameters.clone();
  Adamax optimizer(parameters);
  const auto active = nd::tensor({1, 0}, nd::kLong).to(nd::kBool).unsqueeze(1);
  optimizer.step(parameters, normal({2, 3}, 21), nd::full({2, 1}, 0.1, nd::kDouble), {},
                 active);
  EXPECT_FALSE(nd::equal(parameters[0], before[0]));
  EXPECT_TRUE(nd::equal(parameters[1], before[1]));
  EXPECT_EQ(optimizer.steps[1].item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace kinflow
