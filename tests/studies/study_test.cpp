// Studies: what methods train, what they score, and how a study goes on.
#include "studies/study.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/trainer.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/fit/folded_training.h"
#include "kinflow/flow/cuda/cuda_backend.h"
#include "studies/experiments.h"
#include "studies/methods.h"
#include "studies/simulated_sets.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

constexpr std::int64_t kEpochs = 3;

DependenceRequest in_blocks() {
  DependenceRequest request;
  request.group = "group";
  return request;
}

/// The default fit and the paper's baseline, small.
std::vector<Method> small_methods(const MethodSettings& settings) {
  auto baseline = paper_baseline(settings);
  baseline.runs.resize(2);
  std::vector<Method> methods = {baseline, default_fit(settings)};
  for (auto& method : methods) {
    for (auto& run : method.runs) {
      run.train.epochs = kEpochs;
      run.flow.hidden = {8};
      run.flow.bins = 4;
    }
  }
  return methods;
}

SimulateOptions small_simulation(SimulatedDependence dependence) {
  SimulateOptions options;
  options.dependence = dependence;
  options.rows = 300;
  options.valid_rows = 100;
  options.test_rows = 200;
  return options;
}

class Studies : public testing::Test {
 protected:
  std::vector<PlannedSet> plan(SimulatedDependence dependence) {
    SimulatedPlan simulated;
    simulated.simulation = small_simulation(dependence);
    simulated.shapes = {PlaneShape::abs, PlaneShape::sign};
    simulated.seeds = {1, 2};
    simulated.prefix = "small";
    simulated.methods = small_methods;
    auto sets = plan_simulated_sets(simulated, logger_);
    for (auto& set : sets) {
      set.make = [this, make = set.make] {
        ++made_;
        return make();
      };
    }
    return sets;
  }
  StudyPlace place(const std::string& name, const std::string& what = "blocks") {
    return {.directory = folder_.path(name), .description = {{"what", what}}};
  }

  TemporaryFolder folder_;
  Logger logger_;
  int made_ = 0;
};

void expect_same(const StudyResult& left, const StudyResult& right) {
  ASSERT_EQ(left.sets.size(), right.sets.size());
  for (std::size_t i = 0; i < left.sets.size(); ++i) {
    EXPECT_EQ(left.sets[i].name, right.sets[i].name);
    ASSERT_EQ(left.sets[i].scores.size(), right.sets[i].scores.size());
    for (std::size_t s = 0; s < left.sets[i].scores.size(); ++s) {
      EXPECT_EQ(left.sets[i].scores[s].method, right.sets[i].scores[s].method);
      EXPECT_EQ(left.sets[i].scores[s].test_nll_nats,
                right.sets[i].scores[s].test_nll_nats);
      EXPECT_EQ(left.sets[i].scores[s].learned, right.sets[i].scores[s].learned);
    }
  }
}

TEST(PaperProtocol, HasTheTrainingsOfAppendixB) {
  MethodSettings settings;
  settings.dependence = in_blocks();
  const auto grid = paper_grid(settings);
  EXPECT_EQ(paper_baseline(settings).runs.size(), 4u * 3);
  EXPECT_EQ(grid.runs.size(), 4u * 3);
  EXPECT_EQ(paper_joint(settings).runs.size(), 4u * 4 * 3);
  for (const auto& run : grid.runs) {
    EXPECT_EQ(run.train.grid.size(), 12u);
    EXPECT_EQ(run.replicas.count, 1);
  }
  settings.dependence = {};
  settings.dependence.relationships = {"g.npy"};
  settings.dependence.id = {"id"};
  const auto alternating = paper_alternating(settings);
  EXPECT_EQ(alternating.runs.size(), 4u * 4 * 3);
  for (const auto& run : alternating.runs) {
    EXPECT_EQ(run.train.epochs, 125);
    EXPECT_EQ(run.train.stage_epochs, 25);
    EXPECT_FALSE(run.standardize);
    EXPECT_FALSE(run.calibrate);
  }
}

TEST_F(Studies, ThatAreFinishedTrainNothingAgain) {
  const auto sets = plan(SimulatedDependence::blocks);
  const auto first = run_study(sets, place("a"), logger_);
  EXPECT_EQ(made_, 4);
  const auto again = run_study(sets, place("a"), logger_);
  EXPECT_EQ(made_, 4);
  expect_same(first, again);
  EXPECT_GE(again.seconds, first.seconds);
}

TEST_F(Studies, ThatLostASetGoOnToTheSameNumbers) {
  const auto sets = plan(SimulatedDependence::relationship);
  const auto whole = run_study(sets, place("whole"), logger_);
  run_study(sets, place("cut"), logger_);
  std::filesystem::remove(folder_.path(fmt::format("cut/sets/{}.json", sets[2].name)));
  made_ = 0;
  const auto resumed = run_study(sets, place("cut"), logger_);
  EXPECT_EQ(made_, 1);
  expect_same(whole, resumed);
}

TEST_F(Studies, StopWhenAskedAndGoOn) {
  const auto sets = plan(SimulatedDependence::blocks);
  const std::atomic<bool> stop = true;
  auto stopped = place("s");
  stopped.stop = &stop;
  EXPECT_THROW(run_study(sets, stopped, logger_), Interrupted);
  expect_same(run_study(sets, place("s"), logger_),
              run_study(sets, place("t"), logger_));
}

TEST_F(Studies, GoOnWithTheMethodsThatASetLacks) {
  auto set = plan(SimulatedDependence::blocks).front().make();
  std::vector<SetScores> kept;
  const auto keep = [&](const SetScores& known) { kept.push_back(known); };
  const auto whole = run_set(set, {}, keep, nullptr, logger_);
  ASSERT_EQ(kept.size(), set.methods.size());
  EXPECT_FALSE(kept.front().is_finished);
  EXPECT_TRUE(kept.back().is_finished);
  int trained = 0;
  set.rows_for = [&, rows_for = set.rows_for](const Method& method) {
    EXPECT_EQ(method.name, set.methods.back().name);
    ++trained;
    return rows_for(method);
  };
  const auto rest = run_set(set, kept.front(), keep, nullptr, logger_);
  EXPECT_EQ(trained, 1);
  expect_same({.sets = {rest}}, {.sets = {whole}});
}

TEST_F(Studies, ChooseTheDependenceAsFitDoes) {
  // Groups agree in one column alone, so that latents get correlations of their own.
  constexpr std::int64_t kGroups = 60, kRowsOfGroup = 5, kOthers = 100;
  Random random(8);
  FitRows rows;
  rows.columns = {"x1", "x2"};
  std::vector<double> values;
  for (std::int64_t group = 0; group < kGroups; ++group) {
    const double shared = random.normal();
    for (std::int64_t row = 0; row < kRowsOfGroup; ++row) {
      values.push_back(3 * shared + random.normal());
      values.push_back(random.normal());
      rows.train.labels.push_back(fmt::format("{}", group));
    }
  }
  rows.train.data = nd::tensor(values, nd::kDouble).view({-1, 2});
  rows.relations.rows = rows.train.data.size(0);
  rows.relations.labels = rows.train.labels;
  values.clear();
  for (std::int64_t row = 0; row < kOthers; ++row) {
    values.push_back(3.2 * random.normal());
    values.push_back(random.normal());
  }
  rows.valid.data = nd::tensor(values, nd::kDouble).view({-1, 2});
  rows.has_valid_table = true;
  MethodSettings settings;
  settings.dependence = in_blocks();
  StudySet set;
  set.name = "differ";
  set.methods = {small_methods(settings).back()};
  set.test.data = rows.valid.data + 0.1;
  const auto& request = set.methods.front().runs.front();
  set.rows_for = [&](const Method&) {
    auto used = rows;
    StudyRows ready;
    ready.dependence = make_fitted_dependence(request.data.dependence, Schedule::joint,
                                              used, nd::kCPU, logger_);
    ready.rows = used;
    return ready;
  };
  const auto scores = run_set(
      set, {}, [](const SetScores&) {}, nullptr, logger_);

  FoldedTraining training({request}, rows, logger_);
  while (!training.finished()) training.run_epoch();
  const auto model =
      training.finish(0, {{"request", {}}, {"data_hash", ""}}, logger_, nullptr).model;
  EXPECT_EQ(model.dependence.latents, 2);
  EXPECT_NEAR(scores.score_of(set.methods.front().name).test_nll_nats,
              -model.row_log_density(set.test.data, {}).mean().item<double>(), 1e-9);
  EXPECT_NEAR(scores.score_of(set.methods.front().name).parameter,
              model.dependence.typical_parameter(), 1e-9);
}

TEST_F(Studies, StoppedInsideASetKeepItsFinishedMethods) {
  const auto planned = plan(SimulatedDependence::blocks).front();
  std::vector<std::string> trained;
  bool stops = true;
  const PlannedSet watched{
      planned.name, [&] {
        auto set = planned.make();
        set.rows_for = [&, last = set.methods.back().name,
                        rows_for = set.rows_for](const Method& method) {
          if (stops && method.name == last) throw Interrupted("stopped");
          trained.push_back(method.name);
          return rows_for(method);
        };
        return set;
      }};
  EXPECT_THROW(run_study({watched}, place("m"), logger_), Interrupted);
  EXPECT_EQ(trained.size(), 1u);
  stops = false;
  const auto resumed = run_study({watched}, place("m"), logger_);
  EXPECT_EQ(trained.size(), 2u);
  expect_same(resumed, run_study({planned}, place("n"), logger_));
}

TEST_F(Studies, OfOtherSeedsHaveSectionsOfTheirOwn) {
  ExperimentOptions usual{.directory = folder_.path("")}, other = usual;
  other.first_seed = 77;
  for (const auto& [options, name] :
       {std::pair(usual, "trial"), std::pair(other, "trial-from-77")}) {
    const auto title = heading("Trial", options);
    write_report(options, "trial", {.markdown = title, .pictures = {}});
    EXPECT_EQ(content_of(folder_.path("trial.md")),
              fmt::format("<!-- begin {0} -->\n{1}<!-- end {0} -->\n", name, title));
  }
  EXPECT_EQ(heading("Trial", usual), "## Trial\n\n");
  EXPECT_EQ(heading("Trial", other), "## Trial, seeds from 77\n\n");
  EXPECT_EQ(seeds_of(other).front(), 77u);
}

TEST_F(Studies, KilledAtTheirStartBeginAnew) {
  std::filesystem::create_directories(folder_.path("k"));
  folder_.write("k/.lock", "");
  folder_.write("k/study.json.1234.tmp", "{");
  EXPECT_EQ(
      run_study(plan(SimulatedDependence::blocks), place("k"), logger_).sets.size(),
      4u);
}

TEST_F(Studies, OfAnotherKinflowAreNotMixedWithNewResults) {
  const auto sets = plan(SimulatedDependence::blocks);
  run_study({sets.front()}, place("a"), logger_);
  auto record = nlohmann::json::parse(content_of(folder_.path("a/study.json")));
  record["commit"] = "another";
  folder_.write("a/study.json", record.dump());
  EXPECT_THROW(run_study(sets, place("a"), logger_), InputError);
}

TEST_F(Studies, RefuseFoldersOfOthers) {
  const auto sets = plan(SimulatedDependence::blocks);
  run_study({sets.front()}, place("a"), logger_);
  EXPECT_THROW(run_study(sets, place("a", "something else"), logger_), InputError);
  std::filesystem::create_directories(folder_.path("b"));
  folder_.write("b/note.txt", "mine");
  EXPECT_THROW(run_study(sets, place("b"), logger_), InputError);
}

struct MessageLog final : Logger {
  void info(const std::string& message) override { messages.push_back(message); }
  void warning(const std::string& message) override { warnings.push_back(message); }
  std::vector<std::string> messages, warnings;
};

TEST_F(Studies, SayOnceForASetAndMethodThatTrainingsAreLeftOut) {
  auto set = plan(SimulatedDependence::blocks).front().make();
  auto& diverging = set.methods.front();
  diverging.runs.back().replicas.learning_rates = {1e5};
  for (auto& run : diverging.runs) run.train.epochs = 2 * Trainer::kMaximumRestarts;
  MessageLog log;
  run_set(
      set, {}, [](const SetScores&) {}, nullptr, log);
  EXPECT_TRUE(log.warnings.empty()) << log.warnings.front();
  ASSERT_EQ(log.messages.size(), 1u);
  const auto& said = log.messages.front();
  for (const auto& part :
       {set.name, diverging.name, std::string("1 of 2 trainings diverged for good")}) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }
}

TEST_F(Studies, KeepNothingOfASetThatIsFinished) {
  // What a set holds lives as long as the rows that its methods are given.
  std::vector<std::weak_ptr<int>> alive;
  auto sets = plan(SimulatedDependence::relationship);
  for (auto& set : sets) {
    set.make = [&alive, make = set.make] {
      for (const auto& before : alive) EXPECT_TRUE(before.expired());
      auto made = make();
      auto held = std::make_shared<int>(0);
      alive.push_back(held);
      made.rows_for = [held, rows_for = made.rows_for](const Method& method) {
        return rows_for(method);
      };
      return made;
    };
  }
  const auto result = run_study(sets, place("a"), logger_);
  ASSERT_EQ(alive.size(), sets.size());
  for (const auto& held : alive) EXPECT_TRUE(held.expired());
}

TEST_F(Studies, GiveTheDeviceMemoryOfFinishedSetsBack) {
  if (!nd::hasCUDA()) GTEST_SKIP() << "there is no GPU";
  SimulatedPlan simulated;
  simulated.simulation = small_simulation(SimulatedDependence::relationship);
  simulated.shapes = {PlaneShape::abs};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) simulated.seeds.push_back(seed);
  simulated.prefix = "device";
  simulated.device = "cuda";
  simulated.methods = [](const MethodSettings& settings) {
    auto method = default_fit(settings);
    for (auto& run : method.runs) {
      run.train.epochs = kEpochs;
      run.replicas.count = 64;  // so that what is kept would be seen
    }
    return std::vector<Method>{method};
  };
  const auto sets = plan_simulated_sets(simulated, logger_);
  std::vector<double> free_bytes;
  for (const auto& set : sets) {
    auto own = place(set.name);
    own.device = "cuda";
    run_study({set}, own, logger_);
    free_bytes.push_back(*free_device_memory());
  }
  // Libraries and kernels are loaded by the first study. LibTorch keeps a workspace of
  // cuBLAS for every stream of its pool, which has 32; each study here takes another.
  constexpr double kOthers = 64 << 20, kWorkspace = 32 << 20;
  for (std::size_t i = 1; i < free_bytes.size(); ++i) {
    EXPECT_GT(free_bytes[i],
              free_bytes[0] - kOthers - static_cast<double>(i) * kWorkspace)
        << "after set " << i + 1;
  }
}

TEST_F(Studies, DefaultIsWhatFitGivesOnTheSameFiles) {
  for (const auto dependence :
       {SimulatedDependence::blocks, SimulatedDependence::relationship}) {
    SCOPED_TRACE(static_cast<int>(dependence));
    const auto name = dependence == SimulatedDependence::blocks ? "b" : "r";
    const auto sets = plan(dependence);
    const auto scores = run_set(
        sets[1].make(), {}, [](const SetScores&) {}, nullptr, logger_);

    auto options = small_simulation(dependence);
    options.shape = PlaneShape::sign;
    options.seed = 1;
    const auto data = folder_.path(fmt::format("data-{}", name));
    write_simulation(data, simulate(options));
    MethodSettings settings;
    settings.seed = 1;
    if (dependence == SimulatedDependence::blocks) {
      settings.dependence = in_blocks();
    } else {
      settings.dependence.relationships = {data + "/relationship.npy"};
      settings.dependence.id = {"id"};
      settings.dependence.cache = "none";
    }
    auto request = small_methods(settings)[1].runs.front();
    request.data.table = data + "/train.csv";
    request.data.valid_table = data + "/valid.csv";
    request.ensemble = 4;
    const auto fitted =
        fit(request, {.directory = folder_.path(fmt::format("run-{}", name))}, logger_);
    const auto test = read_rows(data + "/test.csv", {.columns = fitted.model.columns});
    const auto mixture = evaluate_likelihood(fitted.model, test);
    const auto best = evaluate_likelihood(fitted.model.member(0), test);
    EXPECT_NEAR(scores.score_of(method_name::kDefault).test_nll_nats,
                best.mean_nll_nats, 1e-5);
    EXPECT_NEAR(scores.score_of(method_name::kEnsemble).test_nll_nats,
                mixture.mean_nll_nats, 1e-5);
  }
}

}  // namespace
}  // namespace kinflow
