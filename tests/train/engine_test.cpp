// The fused engine against the tensor engine, which is its oracle.
#include <utility>

#include "small_trainings.h"

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

TEST(Engine, FusedAndTensorStepsGiveTheSameTraining) {
  for (const auto& [name, setup] : cases()) {
    SmallTraining fused(setup, Engine::fused), tensor(setup, Engine::tensor);
    const auto first_values = fused.values().clone();
    fused.run_to_the_end();
    tensor.run_to_the_end();
    const auto states = fused.trainer().state(), oracle = tensor.trainer().state();
    for (std::size_t i = 0; i < setup.replicas.size(); ++i) {
      const auto r = static_cast<std::int64_t>(i);
      const auto what = name + ", replica " + std::to_string(r);
      const bool has_stages =
          setup.replicas[i].options.schedule == Schedule::alternating;
      const double bound = has_stages ? kSameStages : kSameSteps;
      EXPECT_LT(difference_of(fused.history(r), tensor.history(r)), bound) << what;
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
    EXPECT_TRUE(tensor.trainer().take_warnings().empty()) << name;
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
  const auto values = a.values().to(at::kDouble) - b.values().to(at::kDouble);
  return {std::sqrt(squares / static_cast<double>(count)),
          values.square().mean().sqrt().item<double>()};
}

TEST(Engine, FusedSinglePrecisionIsAsCloseToDoubleAsTensorsAre) {
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
    SmallTraining reference(setup, Engine::tensor);
    setup.type = at::kFloat;
    SmallTraining fused(setup, Engine::fused), tensor(setup, Engine::tensor);
    reference.run_to_the_end();
    fused.run_to_the_end();
    tensor.run_to_the_end();
    const auto replicas = static_cast<std::int64_t>(setup.replicas.size());
    const auto of_fused = distance_of(fused, reference, replicas);
    const auto of_tensor = distance_of(tensor, reference, replicas);
    EXPECT_GT(of_tensor.curves, 0) << name;
    EXPECT_LT(of_fused.curves, 2 * of_tensor.curves + kFloor) << name;
    EXPECT_LT(of_fused.values, 2 * of_tensor.values + kFloor) << name;
  }
}

}  // namespace
}  // namespace kinflow
