// What a replica's numbers do not depend on: the replicas beside it, the number of
// threads, and whether others have stopped; and checkpoints of such trainings.
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "small_trainings.h"

namespace kinflow {
namespace {

constexpr std::int64_t kReplicaRows = 300;

// Options that all replicas of a training have in common.
TrainOptions shared_options() {
  return {{.epochs = 8, .batch_size = 90, .patience = 1000, .stage_epochs = 3},
          {.memory_share = 0.3}};
}

// Four replicas that differ in all that they may.
std::vector<ReplicaSetup> different_replicas() {
  std::vector<ReplicaSetup> replicas(4, {.options = shared_options()});
  replicas[0].options.estimator = Estimator::memory;
  replicas[1].options.schedule = Schedule::grid;
  replicas[1].options.estimator = Estimator::pairs;
  replicas[1].options.learning_rate = 0.03;
  replicas[1].options.weight_decay = 0;
  replicas[1].start = 0.7;
  replicas[2].options.estimator = Estimator::pairs;
  replicas[2].options.learning_rate = 0.002;
  replicas[2].options.dependence_rate = 30;
  replicas[2].options.prior = 4;
  replicas[2].start = 0.1;
  replicas[3].options.estimator = Estimator::hybrid;
  replicas[3].options.schedule = Schedule::alternating;
  for (std::uint64_t r = 0; r < replicas.size(); ++r) replicas[r].seed = r + 1;
  return replicas;
}

// Replica r of a training of many against `alone`, where it is the only one.
void expect_as_if_alone(SmallTraining& many, std::int64_t r, SmallTraining& alone,
                        double bound) {
  const auto theirs = many.trainer().state(), own = alone.trainer().state();
  const auto what = "replica " + std::to_string(r) + ": ";
  EXPECT_LE(difference_of(many.history(r), alone.history(0)), bound)
      << what << "history";
  for (const auto& [name, tensor] : own) {
    // The memory of a replica with pairs is not used where others have one.
    if (name == "history" || name == "memory") continue;
    EXPECT_LE(difference_of(theirs.at(name).narrow(0, r, 1), tensor), bound)
        << what << name;
  }
}

void expect_replicas_do_not_know_each_other(const TrainingSetup& setup, double bound) {
  SmallTraining many(setup);
  many.run_to_the_end();
  for (std::size_t r = 0; r < setup.replicas.size(); ++r) {
    auto own = setup;
    own.replicas = {setup.replicas[r]};
    SmallTraining alone(own);
    alone.run_to_the_end();
    expect_as_if_alone(many, static_cast<std::int64_t>(r), alone, bound);
  }
}

TEST(Replicas, OfIndependentRowsAndBlocksDoNotKnowEachOtherBitForBit) {
  for (const auto structure : {Structure::independent, Structure::per_block,
                               Structure::shared, Structure::per_size}) {
    for (const auto type : {nd::kFloat, nd::kDouble}) {
      SCOPED_TRACE(name_of(structure));
      expect_replicas_do_not_know_each_other(
          {.law = make_small_law(structure, kReplicaRows),
           .replicas = different_replicas(),
           .type = type},
          0);
    }
  }
  // Scores of rows that place the latents.
  for (const auto type : {nd::kFloat, nd::kDouble}) {
    expect_replicas_do_not_know_each_other(
        {.law = make_small_law(Structure::per_block, kReplicaRows),
         .replicas = different_replicas(),
         .type = type,
         .calibrates = true},
        0);
  }
  // Scores of dependent validation rows.
  expect_replicas_do_not_know_each_other(
      {.law = make_small_law(Structure::per_block, kReplicaRows),
       .replicas = different_replicas(),
       .is_valid_joint = true},
      0);
}

TEST(Replicas, OfARelationshipDoNotKnowEachOtherBeyondRounding) {
  for (const auto structure : {Structure::relationship, Structure::pooled}) {
    SCOPED_TRACE(name_of(structure));
    expect_replicas_do_not_know_each_other(
        {.law = make_small_law(structure, kReplicaRows),
         .replicas = different_replicas()},
        1e-10);
  }
}

TEST(Replicas, AStageForManyEqualsThatOfEachAlone) {
  // Priors that some have in common, and some that take no part in the stages.
  std::vector<ReplicaSetup> replicas(7, {.options = shared_options()});
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    auto& options = replicas[r].options;
    options.schedule = r == 2 ? Schedule::grid : Schedule::alternating;
    options.estimator = r % 2 == 0 ? Estimator::hybrid : Estimator::pairs;
    options.prior = r < 4 ? 1 : 30;
    replicas[r].start = 0.1 + 0.1 * static_cast<double>(r);
    replicas[r].seed = r + 1;
  }
  for (const auto type : {nd::kDouble, nd::kFloat}) {
    const TrainingSetup setup{
        .law = make_small_law(Structure::relationship, kReplicaRows),
        .replicas = replicas,
        .type = type};
    expect_replicas_do_not_know_each_other(setup, 1e-10);
  }
}

// The second replica diverges and goes back to its best weights.
TEST(Replicas, OneThatRestartsDoesNotDisturbTheOthers) {
  for (const auto structure : {Structure::per_block, Structure::relationship}) {
    SCOPED_TRACE(name_of(structure));
    TrainingSetup setup{.law = make_small_law(structure, kReplicaRows),
                        .replicas = std::vector<ReplicaSetup>(
                            2, {.options = shared_options(), .seed = 1})};
    setup.flow.kind = FlowKind::affine;
    setup.replicas[1].options.learning_rate = 30;
    auto own = setup;
    own.replicas.pop_back();
    SmallTraining many(setup), alone(own);
    many.run_to_the_end();
    alone.run_to_the_end();
    EXPECT_GT(many.state("restarts")[1].item<std::int64_t>(), 0);
    EXPECT_EQ(many.state("restarts")[0].item<std::int64_t>(), 0);
    expect_as_if_alone(many, 0, alone,
                       structure == Structure::relationship ? 1e-10 : 0);
  }
}

// Runs with several threads and goes back to one at the end of its life.
class Threads : public testing::Test {
 protected:
  ~Threads() override { set_threads(1); }

  static void expect_the_same_with_any_number(const TrainingSetup& setup,
                                              const std::string& what) {
    set_threads(1);
    SmallTraining one(setup);
    one.run_to_the_end();
    for (const std::int64_t threads : {2, 3, 4}) {
      set_threads(threads);
      SmallTraining several(setup);
      several.run_to_the_end();
      expect_same_training(one, several, what + ", " + std::to_string(threads));
    }
  }
};

// One replica leaves the rows to the threads; four are shared among two or four
// threads, and leave the rows to three.
TEST_F(Threads, DoNotChangeAnyBitOfATraining) {
  for (const auto structure :
       {Structure::independent, Structure::per_block, Structure::shared}) {
    const auto law = make_small_law(structure, kReplicaRows);
    const auto replicas = different_replicas();
    for (const std::size_t only : {0, 2, 3}) {
      expect_the_same_with_any_number({.law = law, .replicas = {replicas[only]}},
                                      name_of(structure) + " of one replica");
    }
    for (const auto type : {nd::kFloat, nd::kDouble}) {
      expect_the_same_with_any_number({.law = law, .replicas = replicas, .type = type},
                                      name_of(structure) + " of four replicas");
    }
  }
}

// Large enough for sums over rows to be shared among threads.
TEST_F(Threads, DoNotChangeAnyBitOfScoresOfManyRows) {
  ReplicaSetup replica{.options = shared_options()};
  replica.options.epochs = 2;
  replica.options.batch_size = 20000;
  TrainingSetup setup{.law = make_small_law(Structure::per_size, 40000),
                      .replicas = {replica},
                      .flow = {.dimension = 2, .layers = 2, .hidden = {4}, .bins = 3},
                      .valid_rows = 70000};
  expect_the_same_with_any_number(setup, "score of rows");
  setup.calibrates = true;
  expect_the_same_with_any_number(setup, "score of calibrated rows");
  setup.calibrates = false;
  setup.is_valid_joint = true;
  expect_the_same_with_any_number(setup, "joint score");
}

// Epochs may begin with other threads than the last one had.
TEST_F(Threads, MayChangeBetweenEpochs) {
  const TrainingSetup setup{.law = make_small_law(Structure::per_block, kReplicaRows),
                            .replicas = different_replicas()};
  SmallTraining steady(setup), changing(setup);
  for (const std::int64_t threads : {1, 3, 2, 1, 4, 2}) {
    set_threads(1);
    steady.run(1);
    set_threads(threads);
    changing.run(1);
  }
  expect_same_training(steady, changing, "changing threads");
}

struct PatienceCase {
  Structure structure;
  Schedule schedule;
  Estimator estimator;
  Engine engine = Engine::fused;
};
constexpr PatienceCase kPatienceCases[] = {
    {Structure::independent, Schedule::baseline, Estimator::pairs},
    {Structure::per_block, Schedule::joint, Estimator::memory},
    {Structure::per_block, Schedule::joint, Estimator::pairs},
    {Structure::shared, Schedule::alternating, Estimator::hybrid},
    {Structure::per_block, Schedule::joint, Estimator::hybrid, Engine::steps},
    {Structure::relationship, Schedule::joint, Estimator::memory},
    {Structure::relationship, Schedule::alternating, Estimator::pairs}};
constexpr std::int64_t kPatience = 3, kLength = 30;

// The first replica goes uphill, so that it is at its best before the first step, the
// second one learns slowly to the end, and the third one jumps about.
TrainingSetup impatient_and_patient(const PatienceCase& which) {
  ReplicaSetup patient{.options = shared_options(), .seed = 2};
  patient.options.schedule = which.schedule;
  patient.options.estimator = which.estimator;
  patient.options.epochs = kLength;
  patient.options.patience = kPatience;
  patient.options.learning_rate = 0.001;
  auto uphill = patient, jumping = patient;
  uphill.options.learning_rate = -0.001;
  jumping.options.learning_rate = 0.1;
  return {.law = make_small_law(which.structure, kReplicaRows),
          .replicas = {uphill, patient, jumping}};
}

std::string text_of(const PatienceCase& which) {
  return name_of(which.structure) + ", schedule " +
         std::to_string(static_cast<int>(which.schedule)) + ", estimator " +
         std::to_string(static_cast<int>(which.estimator));
}

// A replica of a finished training, with the state after every epoch, against the
// documents: it moves until its patience ends, and is as it was from then on.
void expect_stops_by_patience(SmallTraining& training,
                              const std::vector<NamedTensors>& states,
                              std::int64_t replica) {
  auto& trainer = training.trainer();
  const auto best = trainer.best_epoch(replica);
  const auto stop = std::min(best + kPatience, kLength);
  const auto state_of = [&](std::int64_t epoch, const std::string& name) {
    return states[static_cast<std::size_t>(epoch)].at(name)[replica];
  };
  for (std::int64_t epoch = 1; epoch <= kLength; ++epoch) {
    EXPECT_EQ(
        is_same(state_of(epoch, "flow.values"), state_of(epoch - 1, "flow.values")),
        epoch > stop)
        << epoch;
  }
  for (const auto& name :
       {"flow.first_moment", "flow.infinity_norm", "flow.steps", "best_values",
        "best_nll", "best_epoch", "best_parameters", "dependence.unconstrained",
        "dependence.first_moment", "dependence.infinity_norm", "dependence.steps"}) {
    EXPECT_TRUE(is_same(state_of(kLength, name), state_of(stop, name))) << name;
  }
  EXPECT_EQ(state_of(kLength, "flow.steps").item<std::int64_t>(), stop * 4);

  // The history goes on with the score of the frozen weights, without a train NLL.
  const auto history = training.history(replica);
  ASSERT_EQ(history.size(0), kLength + 1);
  for (std::int64_t epoch = 0; epoch <= kLength; ++epoch) {
    const bool is_trained = epoch > 0 && epoch <= stop;
    EXPECT_EQ(std::isfinite(history[epoch][0].item<double>()), is_trained) << epoch;
    EXPECT_EQ(std::isnan(history[epoch][0].item<double>()), !is_trained) << epoch;
    if (epoch <= stop) continue;
    EXPECT_EQ(history[epoch][1].item<double>(), history[stop][1].item<double>());
    EXPECT_EQ(history[epoch][3].item<double>(), history[stop][3].item<double>());
  }

  // The best epoch is that of the lowest score, and its weights are the best ones.
  const auto scores = history.select(1, 1).narrow(0, 0, stop + 1);
  EXPECT_EQ(scores.argmin().item<std::int64_t>(), best);
  EXPECT_EQ(trainer.best_valid_nll(replica), scores.min().item<double>());
  EXPECT_TRUE(is_same(state_of(kLength, "best_values"), state_of(best, "flow.values")));
}

TEST(Patience, AReplicaThatStoppedStaysFrozenWhileOthersGoOn) {
  int stopped_on_the_way = 0;
  for (const auto& which : kPatienceCases) {
    SCOPED_TRACE(text_of(which));
    SmallTraining training(impatient_and_patient(which), which.engine);
    auto& trainer = training.trainer();
    std::vector<NamedTensors> states = {trainer.state()};
    while (!trainer.finished()) {
      trainer.run_epoch();
      states.push_back(trainer.state());
    }
    ASSERT_EQ(trainer.epochs_done(), kLength);
    ASSERT_EQ(trainer.best_epoch(0), 0);
    ASSERT_GT(trainer.best_epoch(1), kLength - kPatience);
    const auto third = trainer.best_epoch(2);
    if (third > 0 && third < kLength - kPatience) ++stopped_on_the_way;
    for (std::int64_t replica = 0; replica < 3; ++replica) {
      SCOPED_TRACE(replica);
      expect_stops_by_patience(training, states, replica);
    }
    trainer.restore_best();
    EXPECT_TRUE(is_same(training.values(), states.back().at("best_values")));
  }
  EXPECT_GT(stopped_on_the_way, 1);
}

TEST(Patience, ACheckpointWithFrozenReplicasGivesIdenticalNumbers) {
  for (const auto& which : kPatienceCases) {
    SCOPED_TRACE(text_of(which));
    const auto setup = impatient_and_patient(which);
    SmallTraining whole(setup, which.engine);
    NamedTensors early, late;
    while (!whole.trainer().finished()) {
      whole.run(1);
      // After the first state nobody has stopped, before the second one the first has.
      if (whole.trainer().epochs_done() == 2) early = whole.trainer().state();
      if (whole.trainer().epochs_done() == 12) late = whole.trainer().state();
    }
    ASSERT_EQ(whole.trainer().best_epoch(0), 0);
    for (const auto& state : {early, late}) {
      // Another training, so that nothing is right by chance.
      auto other = setup;
      for (auto& replica : other.replicas) replica.seed += 50;
      SmallTraining resumed(other, which.engine);
      resumed.run(1);
      resumed.trainer().restore(state);
      resumed.run_to_the_end();
      expect_same_training(whole, resumed, "resumed");
    }
  }
}

}  // namespace
}  // namespace kinflow
