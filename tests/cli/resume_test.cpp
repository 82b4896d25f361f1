// Runs that were killed and resumed, and runs that are repeated.
#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "kinflow/core/random.h"
#include "run_binary.h"
#include "same_run.h"

namespace kinflow::cli {
namespace {

using namespace std::chrono_literals;

/// Kills a process a random instant after `reached` becomes true. True where it was
/// still running.
bool kill_after(Process& process, Random& random,
                const std::function<bool()>& reached) {
  while (process.is_running() && !reached()) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(10'000)));
  const bool was_running = process.is_running();
  process.kill();
  return was_running;
}

/// A fit of 400 epochs, which a busy machine cannot miss, with a checkpoint after each,
/// with a validation table unless there are folds.
Arguments long_fit(const Arguments& more, const std::string& checkpoint_seconds = "0") {
  const auto& files = SharedFiles::get();
  Arguments arguments = {"fit",
                         files.blocks + "/train.csv",
                         "--checkpoint-seconds",
                         checkpoint_seconds,
                         "--patience",
                         "1000"};
  if (std::find(more.begin(), more.end(), "--folds") == more.end()) {
    arguments = arguments + Arguments{"--valid", files.blocks + "/valid.csv"};
  }
  return arguments + small_fit(more, "400");
}

class KilledRun : public testing::TestWithParam<Arguments> {};

TEST_P(KilledRun, EndsInTheNumbersOfAnUndisturbedOne) {
  const TemporaryFolder folder;
  const std::string undisturbed = folder.path("undisturbed");
  const std::string disturbed = folder.path("disturbed");
  const auto arguments = long_fit(GetParam());
  run_well(arguments + Arguments{"--out", undisturbed});
  const bool has_folds =
      std::find(arguments.begin(), arguments.end(), "--valid") == arguments.end();
  // The page of the run among them.
  ASSERT_EQ(content_below(undisturbed).size(), has_folds ? 5u : 4u);

  Random random(17);
  int kills = 0;
  const auto kill_at_epoch = [&](const Arguments& start, std::size_t epoch) {
    Process process(start, folder.path("out"), folder.path("err"));
    kills += kill_after(process, random, [&] {
      return lines_in(disturbed + "/metrics.csv") >= 2 + epoch;
    });
  };
  kill_at_epoch(arguments + Arguments{"--out", disturbed}, 1);
  const Arguments resumed = {"fit", "--resume", disturbed, "--checkpoint-seconds", "0"};
  kill_at_epoch(resumed, 120);
  kill_at_epoch(resumed, 250);
  run_well({"fit", "--resume", disturbed});
  EXPECT_GE(kills, 2);
  expect_same_run(disturbed, undisturbed);
}

INSTANTIATE_TEST_SUITE_P(
    Fits, KilledRun,
    testing::Values(Arguments{"--group", "group"},
                    Arguments{"--group", "group", "--replicas", "5", "--ensemble", "2",
                              "--start", "0.2,0.6", "--normal-scores", "no"},
                    Arguments{"--group", "group", "--folds", "3", "--replicas", "2"},
                    Arguments{"--group", "group", "--flow", "affine", "--layers", "2",
                              "--schedule", "alternating", "--stage-epochs", "7",
                              "--estimator", "hybrid"}));

TEST(Resume, AnInterruptedRunSaysHowToGoOnAndKeepsEveryEpoch) {
  const TemporaryFolder folder;
  const std::string undisturbed = folder.path("undisturbed");
  const std::string stopped = folder.path("stopped");
  // Without a checkpoint of its own: only the interrupt writes one.
  const Arguments arguments = long_fit({"--group", "group"}, "1000");
  run_well(arguments + Arguments{"--out", undisturbed});
  Process process(arguments + Arguments{"--out", stopped}, folder.path("out"),
                  folder.path("err"));
  while (process.is_running() && lines_in(stopped + "/metrics.csv") < 5) {
    std::this_thread::sleep_for(1ms);
  }
  process.interrupt();
  EXPECT_EQ(process.wait(), 130);
  const auto said = content_of(folder.path("err"));
  EXPECT_NE(said.find("go on with: kinflow fit --resume " + stopped), std::string::npos)
      << said;
  const auto resumed = run({"fit", "--resume", stopped});
  EXPECT_EQ(resumed.err.find("after epoch 0\n"), std::string::npos) << resumed.err;
  expect_same_run(stopped, undisturbed);
}

TEST(Resume, AFolderIsForOneProcessAtATime) {
  const TemporaryFolder folder;
  const std::string place = folder.path("run");
  const auto& files = SharedFiles::get();
  Process process(Arguments{"fit", files.blocks + "/train.csv", "--group", "group",
                            "--patience", "100000", "--out", place} +
                      small_fit({}, "100000"),
                  folder.path("out"), folder.path("err"));
  while (process.is_running() && !std::filesystem::exists(place + "/metrics.csv")) {
    std::this_thread::sleep_for(1ms);
  }
  ASSERT_TRUE(process.is_running());
  const auto second = run({"fit", "--resume", place});
  EXPECT_EQ(second.exit_code, 2);
  expect_one_error_line(second, {place, "another process"});
}

TEST(Resume, ARunKilledAtItsVeryStartIsResumedOrBegunAnew) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::string again = folder.path("again");
  const Arguments arguments = Arguments{"fit",           files.blocks + "/train.csv",
                                        "--group",       "group",
                                        "--valid",       files.blocks + "/valid.csv",
                                        "--out",         again,
                                        "--correlation", "per-block"} +
                              small_fit();
  Random random(23);
  for (const bool made : {false, true}) {
    Process process(arguments, folder.path("out"), folder.path("err"));
    kill_after(process, random,
               [&] { return !made || std::filesystem::exists(again); });
    if (std::filesystem::exists(again + "/run.json")) break;
  }
  const bool began = std::filesystem::exists(again + "/run.json");
  run_well(began ? Arguments{"fit", "--resume", again} : arguments);
  expect_same_run(again, files.blocks_run);
}

TEST(Resume, AHalfWrittenRecordIsClearedAwayAndNothingElse) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  std::filesystem::create_directory(folder.path("run"));
  folder.write("run/run.json.12.3.tmp", "{");
  const auto fit =
      Arguments{"fit",     files.blocks + "/train.csv", "--group", "group",
                "--valid", files.blocks + "/valid.csv", "--out",   folder.path("run")} +
      small_fit();
  for (const std::string other : {"scores.csv.12.3.tmp", "notes.tmp"}) {
    folder.write("run/" + other, "a");
    expect_refusal(folder, fit, {"expected a new or empty folder", other});
    std::filesystem::remove(folder.path("run/" + other));
  }
  run_well(fit);
  EXPECT_FALSE(std::filesystem::exists(folder.path("run/run.json.12.3.tmp")));
}

TEST(Resume, AFinishedRunIsLeftAlone) {
  const auto& files = SharedFiles::get();
  const auto before = content_below(files.blocks_run);
  const Outcome outcome = run({"fit", "--resume", files.blocks_run});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err,
            files.blocks_run + ": the run is finished, there is nothing to resume\n");
  EXPECT_TRUE(content_below(files.blocks_run) == before);
}

/// An interrupted run of a table inside `folder`.
std::string interrupted_run(const TemporaryFolder& folder) {
  const std::string table =
      folder.write("train.csv", content_of(SharedFiles::get().blocks + "/train.csv"));
  const std::string run_folder = folder.path("run");
  const Arguments arguments =
      Arguments{"fit", table,   "--group", "group", "--checkpoint-seconds",
                "0",   "--out", run_folder} +
      small_fit({"--patience", "1000"}, "1000");
  const TemporaryFolder streams;
  Process process(arguments, streams.path("out"), streams.path("err"));
  while (process.is_running() && lines_in(run_folder + "/metrics.csv") < 4) {
    std::this_thread::sleep_for(1ms);
  }
  process.kill();
  return run_folder;
}

TEST(Resume, ChangedDataOrABrokenCheckpointAreRefused) {
  const TemporaryFolder folder;
  const std::string run_folder = interrupted_run(folder);
  const Arguments resume = {"fit", "--resume", run_folder};
  expect_refusal(folder, {"evaluate", run_folder, folder.path("train.csv")},
                 {run_folder, "expected a finished run", "--resume"});
  expect_refusal(folder, resume + Arguments{"--epochs", "3"}, {"--resume", "--epochs"});

  const std::string checkpoint = run_folder + "/checkpoint.safetensors";
  const std::string bytes = content_of(checkpoint);
  ASSERT_FALSE(bytes.empty());
  for (const auto& entry : std::filesystem::directory_iterator(run_folder)) {
    if (entry.path().extension() == ".tmp") std::filesystem::remove(entry.path());
  }
  folder.write("run/checkpoint.safetensors", bytes.substr(0, bytes.size() - 8));
  expect_refusal(folder, resume, {checkpoint, "expected"});
  folder.write("run/checkpoint.safetensors", bytes);

  folder.write("train.csv", content_of(folder.path("train.csv")) + "1,2,g1\n");
  expect_refusal(
      folder, resume,
      {folder.path("train.csv"), "expected the file that the run began with"});
}

TEST(Repeat, TheSeedDecides) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto model_with_seed = [&](const std::string& seed, const std::string& name) {
    run_well(Arguments{"fit", files.blocks + "/train.csv", "--group", "group", "--seed",
                       seed, "--out", folder.path(name)} +
             small_fit());
    return content_of(folder.path(name) + "/model.safetensors");
  };
  const std::string first = model_with_seed("1", "a");
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(model_with_seed("1", "b") == first);
  EXPECT_FALSE(model_with_seed("2", "c") == first);
}

}  // namespace
}  // namespace kinflow::cli
