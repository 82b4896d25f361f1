// The fused engine against single steps with batch passes and estimators, and the
// gradients of batch passes against differences.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/engine/batch_pass.h"
#include "small_trainings.h"
#include "tests/flow/central_differences.h"

namespace kinflow {
namespace {

// 5 batches an epoch, the last one smaller, two tiles of the kernels each: 50 steps.
constexpr std::int64_t kEngineRows = 330, kBatchSize = 70, kEpochs = 10;

// Bounds of the differences between the engines in float64. Where steps alone move the
// parameters, 3e-12 was the largest that was seen, and 5e-12 in the moments of
// gradients. A stage takes the top of a likelihood curve, which is flat: 2e-10.
constexpr double kSameSteps = 1e-11, kSameStages = 1e-8, kOfMoments = 10;

struct Case {
  std::string name;
  TrainingSetup setup;
};

ReplicaSetup replica_with(Schedule schedule, Estimator estimator) {
  return {.options = {{.schedule = schedule,
                       .estimator = estimator,
                       .epochs = kEpochs,
                       .batch_size = kBatchSize,
                       .patience = 1000,
                       .stage_epochs = 3},
                      {.learning_rate = 0.01, .memory_share = 0.3}}};
}

// Two replicas that differ in numbers only.
std::vector<ReplicaSetup> two_replicas(Schedule schedule, Estimator estimator) {
  const auto one = replica_with(schedule, estimator);
  auto other = one;
  other.options.learning_rate = 0.004;
  other.options.weight_decay = 0.02;
  other.options.prior = 2.5;
  other.options.dependence_rate = 4;
  other.options.memory_share = 0.8;
  other.seed = 2;
  other.start = 0.6;
  return {one, other};
}

// Every estimator with every schedule.
std::vector<ReplicaSetup> all_combinations() {
  std::vector<ReplicaSetup> replicas;
  for (const auto estimator :
       {Estimator::pairs, Estimator::memory, Estimator::hybrid}) {
    for (const auto schedule :
         {Schedule::joint, Schedule::grid, Schedule::alternating}) {
      replicas.push_back(replica_with(schedule, estimator));
      replicas.back().seed = replicas.size();
    }
  }
  return replicas;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  const auto add = [&](std::string name, TrainingSetup setup) {
    result.push_back({std::move(name), std::move(setup)});
  };
  const auto independent = make_small_law(Structure::independent, kEngineRows);
  const auto blocks = make_small_law(Structure::per_block, kEngineRows);
  const auto related = make_small_law(Structure::relationship, kEngineRows);
  for (const auto structure :
       {Structure::shared, Structure::per_size, Structure::per_latent,
        Structure::per_block_and_latent, Structure::relationship_per_latent}) {
    add(name_of(structure), {.law = make_small_law(structure, kEngineRows),
                             .replicas = all_combinations()});
  }
  add("pooled", {.law = make_small_law(Structure::pooled, kEngineRows),
                 .replicas = all_combinations()});
  add("per block", {.law = blocks, .replicas = all_combinations()});
  add("relationship", {.law = related, .replicas = all_combinations()});

  // Where all replicas have one estimator, the other one is left out altogether.
  const auto baseline = two_replicas(Schedule::baseline, Estimator::pairs);
  const auto hybrid = two_replicas(Schedule::joint, Estimator::hybrid);
  add("independent", {.law = independent, .replicas = baseline});
  for (const auto estimator : {Estimator::pairs, Estimator::memory}) {
    const auto replicas = two_replicas(Schedule::joint, estimator);
    add("per block, one estimator", {.law = blocks, .replicas = replicas});
    add("relationship, one estimator", {.law = related, .replicas = replicas});
  }

  const FlowOptions with_context{
      .dimension = 2, .context = 3, .hidden = {8, 8}, .bins = 5};
  const FlowOptions affine{.kind = FlowKind::affine, .dimension = 2, .hidden = {8, 8}};
  add("independent with context",
      {.law = independent, .replicas = baseline, .flow = with_context});
  add("per block with context",
      {.law = blocks, .replicas = hybrid, .flow = with_context});
  add("relationship with context",
      {.law = related, .replicas = hybrid, .flow = with_context});
  const FlowOptions with_map{
      .dimension = 2, .layers = 2, .hidden = {8}, .bins = 5, .latent_map = true};
  for (const auto structure :
       {Structure::per_latent, Structure::relationship_per_latent}) {
    add(name_of(structure) + " with a linear map",
        {.law = make_small_law(structure, kEngineRows),
         .replicas = hybrid,
         .flow = with_map});
  }
  add("independent, affine",
      {.law = independent, .replicas = baseline, .flow = affine});
  add("per block, affine", {.law = blocks, .replicas = hybrid, .flow = affine});
  add("validation rows in blocks",
      {.law = blocks, .replicas = hybrid, .is_valid_joint = true});
  // More batches than one value of log det C serves.
  auto many = hybrid;
  for (auto& replica : many) {
    replica.options.batch_size = 16;
    replica.options.epochs = 3;
  }
  add("many batches", {.law = blocks, .replicas = many});
  return result;
}

TEST(Engine, FusedEpochsAndSingleStepsGiveTheSameTraining) {
  for (const auto& [name, setup] : cases()) {
    SmallTraining fused(setup, Engine::fused), steps(setup, Engine::steps);
    const auto first_values = fused.values().clone();
    fused.run_to_the_end();
    steps.run_to_the_end();
    const auto states = fused.trainer().state(), oracle = steps.trainer().state();
    for (std::size_t i = 0; i < setup.replicas.size(); ++i) {
      const auto r = static_cast<std::int64_t>(i);
      const auto what = name + ", replica " + std::to_string(r);
      const bool has_stages =
          setup.replicas[i].options.schedule == Schedule::alternating;
      const double bound = has_stages ? kSameStages : kSameSteps;
      EXPECT_LT(difference_of(fused.history(r), steps.history(r)), bound) << what;
      for (const auto& key : {"flow.values", "dependence.unconstrained", "best_values",
                              "best_parameters", "best_nll"}) {
        EXPECT_LT(difference_of(states.at(key)[r], oracle.at(key)[r]), bound)
            << what << ": " << key;
      }
      for (const auto& key : {"flow.first_moment", "flow.infinity_norm",
                              "dependence.first_moment", "dependence.infinity_norm"}) {
        EXPECT_LT(difference_of(states.at(key)[r], oracle.at(key)[r]),
                  kOfMoments * bound)
            << what << ": " << key;
      }
      // The training went somewhere, otherwise nothing was compared.
      EXPECT_GT(difference_of(fused.values()[r], first_values[r]), 0.01) << what;
      const auto typical = fused.history(r).select(1, 3);
      EXPECT_EQ(typical[0].item<double>() != typical[-1].item<double>(),
                setup.law->parameter_count() > 0 &&
                    setup.replicas[i].options.schedule != Schedule::grid)
          << what;
    }
    for (const auto& key :
         {"flow.steps", "dependence.steps", "best_epoch", "skipped"}) {
      EXPECT_TRUE(is_same(states.at(key), oracle.at(key))) << name << ": " << key;
    }
    EXPECT_EQ(fused.trainer().skipped_steps(), 0) << name;
    EXPECT_TRUE(fused.trainer().take_warnings().empty()) << name;
    EXPECT_TRUE(steps.trainer().take_warnings().empty()) << name;
  }
}

// Root of the mean square of the differences between two trainings: of the curves of
// training, validation and dependence, and of the weights.
struct Distance {
  double curves, values;
};

Distance distance_of(SmallTraining& a, SmallTraining& b, std::int64_t replicas) {
  double squares = 0;
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < replicas; ++r) {
    // The first record has no train NLL.
    const auto from = [&](SmallTraining& training) {
      return training.history(r).slice(0, 1);
    };
    const auto difference = from(a) - from(b);
    squares += difference.square().sum().item<double>();
    count += difference.numel();
  }
  const auto values = a.values().to(nd::kDouble) - b.values().to(nd::kDouble);
  return {std::sqrt(squares / static_cast<double>(count)),
          values.square().mean().sqrt().item<double>()};
}

TEST(Engine, FusedSinglePrecisionIsAsCloseToDoubleAsStepsAre) {
  // Where gradients are rounding noise Adamax makes steps of them, in either engine.
  constexpr double kFloor = 1e-7;
  const auto independent = two_replicas(Schedule::baseline, Estimator::pairs);
  const std::vector<Case> compared = {
      {"independent",
       {.law = make_small_law(Structure::independent, kEngineRows),
        .replicas = independent}},
      {"affine",
       {.law = make_small_law(Structure::independent, kEngineRows),
        .replicas = independent,
        .flow = {.kind = FlowKind::affine, .dimension = 2, .hidden = {8, 8}}}},
      {"per block",
       {.law = make_small_law(Structure::per_block, kEngineRows),
        .replicas = all_combinations()}},
      {"relationship",
       {.law = make_small_law(Structure::relationship, kEngineRows),
        .replicas = all_combinations()}}};
  for (auto [name, setup] : compared) {
    SmallTraining reference(setup, Engine::steps);
    setup.type = nd::kFloat;
    SmallTraining fused(setup, Engine::fused), steps(setup, Engine::steps);
    reference.run_to_the_end();
    fused.run_to_the_end();
    steps.run_to_the_end();
    const auto replicas = static_cast<std::int64_t>(setup.replicas.size());
    const auto of_fused = distance_of(fused, reference, replicas);
    const auto of_steps = distance_of(steps, reference, replicas);
    EXPECT_GT(of_steps.curves, 0) << name;
    EXPECT_LT(of_fused.curves, 2 * of_steps.curves + kFloor) << name;
    EXPECT_LT(of_fused.values, 2 * of_steps.values + kFloor) << name;
  }
}

// The gradients of a batch pass in some weights of all flows together and in random
// directions, against differences of the flow by its layers in float64.
class BatchPassGradient {
 public:
  static constexpr std::int64_t kFlows = 3, kRows = 40;
  static constexpr double kSlope = -0.7;  // of the log-determinants

  explicit BatchPassGradient(const FlowOptions& options)
      : options_(options),
        flow_(options, {1, 2, 3}, nd::kDouble),
        data_(exact_floats({kRows, options.dimension}, 5, 1.5)),
        rows_(nd::tensor(std::vector<std::int64_t>{3, 39, 0, 17, 18, 5, 11})),
        slopes_(exact_floats({kFlows, rows_.size(0), options.dimension}, 7, 1)) {
    if (options.context > 0) context_ = exact_floats({kRows, options.context}, 6, 1);
    flow_.values().copy_(
        (flow_.values() + normal_numbers(flow_.values().sizes(), 8, 0.2))
            .to(nd::kFloat));
    const std::int64_t count = flow_.values().size(1);
    Random random(9);
    for (int i = 0; i < 60; ++i) {
      directions_.push_back(nd::zeros({count, 1}, nd::kDouble));
      directions_.back()[static_cast<std::int64_t>(random.below(count))].fill_(1);
    }
    for (std::uint64_t i = 0; i < 5; ++i) {
      const auto direction = normal_numbers({count, 1}, 100 + i);
      directions_.push_back(direction / direction.norm());
    }
    const auto values = flow_.values().clone();
    for (const auto& direction : directions_) {
      expected_.push_back(test::central_derivative(
          [&](double step) {
            flow_.values().copy_(values + step * direction.t());
            return value_by_layers();
          },
          1e-4));
      flow_.values().copy_(values);
    }
  }

  // The largest difference, relative to the gradient of the flow.
  double error(nd::ScalarType type, Engine engine) const {
    Flow flow(options_, {1, 2, 3}, type);
    flow.values().copy_(flow_.values());
    const auto pass =
        make_batch_pass(flow, data_.to(type),
                        context_.defined() ? context_.to(type) : context_, engine);
    pass->to_latent(rows_);
    const auto gradient =
        pass->gradient(slopes_.to(type), kSlope).to(nd::kDouble);  // [R, P]
    const auto size = gradient.norm(2, 1);
    double largest = 0;
    for (std::size_t i = 0; i < directions_.size(); ++i) {
      const auto found = gradient.mm(directions_[i]).squeeze(1);
      const auto errors = (found - expected_[i]).abs() / size;
      largest = std::max(largest, errors.max().item<double>());
    }
    return largest;
  }

 private:
  static Array exact_floats(nd::IntArrayRef shape, std::uint64_t seed, double scale) {
    return normal_numbers(shape, seed, scale).to(nd::kFloat).to(nd::kDouble);
  }
  // Of every flow, [R].
  Array value_by_layers() const {
    const auto of_flows = [&](const Array& all) {
      return all.index_select(0, rows_).expand({kFlows, rows_.size(0), all.size(1)});
    };
    const auto result = flow_.to_latent(
        of_flows(data_), context_.defined() ? of_flows(context_) : context_);
    return (result.latents * slopes_).sum({1, 2}) + kSlope * result.log_abs_det.sum(1);
  }

  FlowOptions options_;
  Flow flow_;
  Array data_, context_, rows_, slopes_;
  std::vector<Array> directions_, expected_;  // [P, 1], [R]
};

TEST(BatchPass, GradientsAreThoseOfDifferencesOfTheLayers) {
  for (const auto kind : {FlowKind::spline, FlowKind::affine}) {
    for (const std::int64_t context : {0, 2}) {
      for (const bool has_map : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << (kind == FlowKind::spline ? "spline" : "affine") << ", context "
                     << context << ", map " << has_map);
        const BatchPassGradient gradient({.kind = kind,
                                          .dimension = 3,
                                          .context = context,
                                          .hidden = {8, 8},
                                          .bins = 5,
                                          .latent_map = has_map});
        for (const auto engine : {Engine::fused, Engine::steps}) {
          EXPECT_LT(gradient.error(nd::kDouble, engine), 1e-9);
          EXPECT_LT(gradient.error(nd::kFloat, engine), 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kinflow
