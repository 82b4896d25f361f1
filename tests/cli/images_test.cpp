// Images through the real binary: fit, evaluate, sample, inspect, and what is refused.
#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "kinflow/images/read_image.h"
#include "kinflow/images/write_png.h"
#include "run_binary.h"
#include "tests/train/images/small_images.h"

namespace kinflow::cli {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

/// Options of a fit that takes a fraction of a second.
Arguments small(const Arguments& more) {
  Arguments options = {"--images", "--flow",           "glow", "--steps",
                       "2",        "--dense-channels", "8",    "--dense-layers",
                       "1",        "--dense-growth",   "8",    "--threads",
                       "1",        "--learning-rate",  "0.005"};
  if (std::find(more.begin(), more.end(), "--batch-size") == more.end()) {
    options = options + Arguments{"--batch-size", "16"};
  }
  return options + more;
}

/// Images, a fit of them and one of a table that many tests read and none changes.
class Faces {
  const TemporaryFolder folder_;

 public:
  static const Faces& get() {
    static const Faces faces;
    return faces;
  }
  const std::string images, run, table, table_run;

 private:
  Faces()
      : images(write_small_images(folder_)),
        run(folder_.path("run")),
        table(folder_.path("table")),
        table_run(folder_.path("table_run")) {
    run_well(Arguments{"fit", images + "/train", "--group-by-folder", "--valid",
                       images + "/valid", "--out", run} +
             small({"--epochs", "3"}));
    run_well({"simulate", "--shape", "abs", "--dependence", "blocks", "--rows", "100",
              "--valid-rows", "50", "--test-rows", "50", "--out", table});
    run_well(
        Arguments{"fit", table + "/train.csv", "--group", "group", "--out", table_run} +
        small_fit());
  }
};

Arguments fit_of(const std::string& out, const Arguments& more = {}) {
  return Arguments{"fit", Faces::get().images + "/train", "--group-by-folder", "--out",
                   out} +
         small(more);
}

std::size_t files_below(const std::string& folder, const std::string& extension) {
  std::size_t count = 0;
  for (const auto& [path, content] : content_below(folder)) {
    count += path.ends_with(extension) ? 1 : 0;
  }
  return count;
}

TEST(Images, EvaluateTellsAllImagesAndOneOfEachPerson) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto json = Json::parse(run_well(
      {"evaluate", faces.run, faces.images + "/train", "--json", "--samples", "30",
       "--out", folder.path("scores.csv"), "--prd", folder.path("prd.png")}));
  EXPECT_EQ(json["images"], 80);
  EXPECT_EQ(json["indiv_images"], json["people"]);
  EXPECT_LT(json["people"], 80);
  EXPECT_NEAR(json["bits_per_dimension"].get<double>(),
              json["mean_nll_nats"].get<double>() / (64 * std::log(2.0)), 1e-9);
  EXPECT_GT(json["frechet_distance"].get<double>(), 0);
  EXPECT_EQ(json["drawn_images"], 30);
  const auto scores = content_of(folder.path("scores.csv"));
  EXPECT_EQ(std::count(scores.begin(), scores.end(), '\n'), 81);
  EXPECT_GT(read_image(folder.path("prd.png")).width, 100);
  // The same noise whenever it is computed again.
  const auto again =
      Json::parse(run_well({"evaluate", faces.run, faces.images + "/train", "--json"}));
  EXPECT_EQ(again["mean_nll_nats"], json["mean_nll_nats"]);
  EXPECT_FALSE(again.contains("frechet_distance"));
}

TEST(Images, SamplesAreImagesThatEvaluateReads) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  run_well({"sample", faces.run, "--n", "6", "--out", folder.path("drawn"), "--sheet",
            folder.path("sheet.png"), "--temperature", "0.7"});
  EXPECT_EQ(files_below(folder.path("drawn"), ".png"), 6u);
  EXPECT_GT(read_image(folder.path("sheet.png")).width, 3 * 8);
  const auto scored =
      Json::parse(run_well({"evaluate", faces.run, folder.path("drawn"), "--json"}));
  EXPECT_EQ(scored["images"], 6);
  EXPECT_EQ(scored["people"], 6);
  run_well({"sample", faces.run, "--n", "6", "--out", folder.path("drawn.npy"),
            "--temperature", "0.7"});
  folder.write("ids.csv", "person\n1\n2\n3\n4\n5\n6\n");
  const auto of_array =
      Json::parse(run_well({"evaluate", faces.run, folder.path("drawn.npy"), "--ids",
                            folder.path("ids.csv"), "--json"}));
  EXPECT_NEAR(of_array["mean_nll_nats"].get<double>(),
              scored["mean_nll_nats"].get<double>(), 1e-6);
}

TEST(Images, MoreImagesOfTheSamePeople) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  run_well({"sample", faces.run, "--given", faces.images + "/train", "--n", "3",
            "--out", folder.path("more"), "--sheet", folder.path("sheet.png")});
  const auto scored =
      Json::parse(run_well({"evaluate", faces.run, faces.images + "/train", "--json"}));
  EXPECT_EQ(files_below(folder.path("more"), ".png"),
            3 * scored["people"].get<std::size_t>());
  for (const auto& person :
       std::filesystem::directory_iterator(faces.images + "/train")) {
    EXPECT_TRUE(std::filesystem::exists(folder.path("more") + "/" +
                                        person.path().filename().string() + "/3.png"));
  }
  run_well({"sample", faces.run, "--given", faces.images + "/train", "--n", "1",
            "--parameter", "0.99", "--out", folder.path("near.npy")});
}

TEST(Images, InspectShowsFlowAndPeople) {
  const auto& faces = Faces::get();
  const auto text = run_well({"inspect", faces.run});
  for (const auto* part : {"1 x 8 x 8 values", "glow", "typical rho", "largest blocks",
                           "bits per dimension"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = Json::parse(run_well({"inspect", faces.run, "--json"}));
  EXPECT_EQ(json["kind"], "images");
  EXPECT_EQ(json["flow"]["steps"], 2);
  EXPECT_EQ(json["history"].size(), 3u);
}

TEST(Images, OptionsOfTheOtherKindAreRefused) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto out = folder.path("out");
  expect_refusal(folder, fit_of(out, {"--hidden", "8"}), {"--hidden", "tables"});
  expect_refusal(folder, fit_of(out, {"--group", "person"}), {"--group", "tables"});
  expect_refusal(folder, fit_of(out, {"--schedule", "alternating"}), {"--schedule"});
  expect_refusal(folder, fit_of(out, {"--estimator", "hybrid"}), {"--estimator"});
  expect_refusal(folder, fit_of(out, {"--precision", "float64"}), {"--precision"});
  expect_refusal(folder, fit_of(out, {"--precision", "mixed"}),
                 {"--precision", "expected float32 on cpu", "found mixed"});
  expect_refusal(folder, fit_of(out, {"--start", "0.1,0.2"}), {"--start", "one value"});
  expect_refusal(folder, fit_of(out, {"--ids", "x.csv"}), {"--ids", "both"});
  expect_refusal(folder, fit_of(out, {"--valid-ids", "x.csv"}), {"--valid-ids"});
  const Arguments table = {
      "fit", faces.table + "/train.csv", "--group", "group", "--out", out};
  expect_refusal(folder, table + Arguments{"--preset", "paper"},
                 {"--preset", "images"});
  expect_refusal(folder, table + Arguments{"--flow", "glow"}, {"--flow", "--images"});
  expect_refusal(folder, table + Arguments{"--precision", "mixed"}, {"--precision"});
  expect_refusal(folder,
                 {"evaluate", faces.run, faces.images + "/test", "--group", "g"},
                 {"--group", "tables"});
  expect_refusal(
      folder,
      {"evaluate", faces.table_run, faces.table + "/test.csv", "--samples", "30"},
      {"--samples", "images"});
  expect_refusal(folder, {"sample", faces.table_run, "--rows", "2", "--sheet", out},
                 {"--sheet", "images"});
  expect_refusal(folder,
                 {"sample", faces.run, "--n", "2", "--block-sizes", "2", "--out", out},
                 {"--block-sizes", "tables"});
  expect_refusal(folder, {"sample", faces.run, "--n", "2"}, {"--out", "--sheet"});
  expect_refusal(folder, {"sample", faces.run, "--out", out}, {"--n"});
  expect_refusal(folder,
                 {"transform", faces.run, faces.table + "/test.csv", "--out",
                  folder.path("out.csv")},
                 {"expected a model of tables, found a model of images"});
}

TEST(Images, BadImagesAreRefusedAndNothingIsWritten) {
  const auto& faces = Faces::get();
  const TemporaryFolder folder;
  const auto out = folder.path("out");
  const auto fit = [&](const std::string& data, const Arguments& more = {}) {
    return Arguments{"fit", data, "--group-by-folder", "--out", out} + small(more);
  };
  const auto copy = [&](const std::string& name) {
    std::filesystem::copy(faces.images + "/train", folder.path(name),
                          std::filesystem::copy_options::recursive);
    return folder.path(name);
  };
  expect_refusal(folder, fit(folder.path("nowhere")), {"nowhere"});
  std::filesystem::create_directory(folder.path("empty"));
  expect_refusal(folder, fit(folder.path("empty")), {folder.path("empty")});
  const auto mixed = copy("mixed");
  std::filesystem::create_directory(mixed + "/zoe");
  write_png(mixed + "/zoe/1.png", blank_image(12, 8, 1));
  expect_refusal(folder, fit(mixed), {"zoe/1.png", "8 x 8", "12 x 8"});
  const auto corrupt = copy("corrupt");
  std::filesystem::create_directory(corrupt + "/zoe");
  folder.write("corrupt/zoe/1.png", "");
  expect_refusal(folder, fit(corrupt), {"zoe/1.png"});
  const auto skipped = run(fit(corrupt, {"--skip-corrupt", "--epochs", "1"}));
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_NE(skipped.err.find("1 images skipped"), std::string::npos) << skipped.err;
  expect_refusal(folder, fit_of(out, {"--batch-size", "4000"}),
                 {"already holds a run"});
  const auto other = folder.path("other");
  expect_refusal(folder, fit_of(other, {"--batch-size", "4000"}), {"--batch-size"});
  expect_refusal(folder, fit_of(other, {"--size", "7"}), {"--size"});
  expect_refusal(folder, fit_of(other, {"--size", "8xq"}), {"--size"});
  expect_refusal(folder, {"evaluate", faces.run, mixed}, {"zoe/1.png"});
  expect_refusal(folder,
                 {"evaluate", faces.run, faces.images + "/test", "--size", "12"},
                 {"8 x 8", "12 x 12"});
  expect_refusal(folder, {"evaluate", faces.run, faces.images + "/test", "--rgb"},
                 {"grey", "RGB"});
  expect_refusal(folder,
                 {"sample", faces.run, "--n", "2", "--out", faces.images + "/test"},
                 {"expected a new or empty folder"});
}

TEST(Images, ADamagedModelIsRefusedInOneLine) {
  const TemporaryFolder folder;
  const auto good = content_of(Faces::get().run + "/model.safetensors");
  const auto path = folder.path("m.safetensors");
  auto flipped = good;
  flipped[flipped.size() - 9] ^= 4;
  for (const auto& bytes :
       {good.substr(0, 1000), good.substr(0, good.size() - 4), flipped}) {
    folder.write("m.safetensors", bytes);
    expect_refusal(folder, {"evaluate", path, Faces::get().images + "/test"}, {path});
    expect_refusal(folder, {"sample", path, "--n", "2", "--out", folder.path("o")},
                   {path});
    expect_refusal(folder, {"inspect", path}, {path});
  }
}

std::size_t lines_in(const std::string& path) {
  const std::string text = content_of(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void wait_until(Process& process, const std::function<bool()>& reached) {
  while (process.is_running() && !reached()) std::this_thread::sleep_for(1ms);
}

Json record_of(const std::string& run_folder) {
  auto record = Json::parse(content_of(run_folder + "/run.json"));
  record.erase("seconds");
  return record;
}

void expect_same_run(const std::string& left, const std::string& right) {
  EXPECT_TRUE(content_of(left + "/model.safetensors") ==
              content_of(right + "/model.safetensors"));
  EXPECT_EQ(content_of(left + "/metrics.csv"), content_of(right + "/metrics.csv"));
  EXPECT_EQ(record_of(left), record_of(right));
  EXPECT_EQ(content_below(left).size(), content_below(right).size());
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
  run_well({"fit", "--resume", disturbed});
  EXPECT_EQ(kills, 2);
  expect_same_run(disturbed, undisturbed);
}

INSTANTIATE_TEST_SUITE_P(Fits, KilledImageRun,
                         testing::Values(Arguments{"--epochs", "60"},
                                         Arguments{"--epochs", "30", "--schedule",
                                                   "grid", "--grid", "0.1,0.4",
                                                   "--estimator", "pairs"}));

TEST(Images, AnInterruptedRunSaysHowToGoOn) {
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
