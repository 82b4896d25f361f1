// Fits of images that are interrupted or killed, and go on.
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "same_run.h"
#include "small_faces.h"

namespace kinflow::cli {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

void wait_until(Process& process, const std::function<bool()>& reached) {
  while (process.is_running() && !reached()) std::this_thread::sleep_for(1ms);
}

class KilledImageRun : public testing::TestWithParam<Arguments> {};

TEST_P(KilledImageRun, EndsInTheNumbersOfAnUndisturbedOne) {
  const TemporaryFolder folder;
  const auto undisturbed = folder.path("undisturbed");
  const auto disturbed = folder.path("disturbed");
  const auto more = Arguments{"--checkpoint-seconds", "0"} + GetParam();
  run_well(fit_of(undisturbed, more));
  const auto lines = lines_in(undisturbed + "/metrics.csv");
  int kills = 0;
  const auto kill_after = [&](const Arguments& start, std::size_t reached) {
    Process process(start, folder.path("out"), folder.path("err"));
    wait_until(process,
               [&] { return lines_in(disturbed + "/metrics.csv") >= reached; });
    kills += process.is_running() ? 1 : 0;
    process.kill();
  };
  kill_after(fit_of(disturbed, more), lines / 4);
  kill_after({"fit", "--resume", disturbed, "--checkpoint-seconds", "0"}, lines / 2);
  const auto best = run_well({"inspect", disturbed + "/best.safetensors"});
  EXPECT_NE(best.find("the best so far"), std::string::npos) << best;
  EXPECT_EQ(best.find('?'), std::string::npos) << best;
  run_well({"fit", "--resume", disturbed});
  EXPECT_EQ(kills, 2);
  expect_same_run(disturbed, undisturbed);
}

INSTANTIATE_TEST_SUITE_P(Fits, KilledImageRun,
                         testing::Values(Arguments{"--epochs", "60"},
                                         Arguments{"--epochs", "30", "--schedule",
                                                   "grid", "--grid", "0.1,0.4",
                                                   "--estimator", "pairs"}));

TEST(ImageStop, TheFirstInterruptIsAnsweredAtOnceAndTheSecondEnds) {
  const TemporaryFolder folder;
  const auto err = folder.path("err");
  // One step, which takes seconds, is an epoch.
  Process process({"fit",
                   Faces::get().images + "/train",
                   "--images",
                   "--group-by-folder",
                   "--out",
                   folder.path("run"),
                   "--batch-size",
                   "64",
                   "--valid-fraction",
                   "0.05",
                   "--size",
                   "64",
                   "--steps",
                   "8",
                   "--dense-channels",
                   "64",
                   "--dense-layers",
                   "2",
                   "--dense-growth",
                   "64",
                   "--flow",
                   "glow",
                   "--threads",
                   "1"},
                  folder.path("out"), err);
  const auto wait_for = [&](const std::string& text) {
    wait_until(process,
               [&] { return content_of(err).find(text) != std::string::npos; });
  };
  wait_for("training images of");
  process.interrupt();
  wait_for("stopping after this epoch; a second signal stops at once");
  EXPECT_EQ(content_of(err).find("interrupted after"), std::string::npos);
  ASSERT_TRUE(process.is_running());
  process.interrupt();
  EXPECT_EQ(process.wait(), -1) << "a signal ends it";
}

TEST(ImageStop, AnInterruptedRunSaysHowToGoOn) {
  const TemporaryFolder folder;
  const auto stopped = folder.path("stopped");
  const auto whole = folder.path("whole");
  const Arguments more = {"--epochs", "40"};
  run_well(fit_of(whole, more));
  Process process(fit_of(stopped, more), folder.path("out"), folder.path("err"));
  wait_until(process, [&] { return lines_in(stopped + "/metrics.csv") >= 5; });
  process.interrupt();
  EXPECT_EQ(process.wait(), 130);
  const auto said = content_of(folder.path("err"));
  EXPECT_NE(said.find("go on with: kinflow fit --resume " + stopped), std::string::npos)
      << said;
  expect_refusal(folder, {"evaluate", stopped, Faces::get().images + "/test"},
                 {"expected a finished run"});
  expect_refusal(folder, {"fit", "--resume", stopped, "--epochs", "3"}, {"--resume"});
  run_well({"fit", "--resume", stopped});
  expect_same_run(stopped, whole);
  EXPECT_EQ(run({"fit", "--resume", stopped}).err,
            stopped + ": the run is finished, there is nothing to resume\n");
}

}  // namespace
}  // namespace kinflow::cli
