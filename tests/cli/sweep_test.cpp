// Sweeps by the real binary: results, the best run, kills, and bad specifications.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "run_binary.h"

namespace kinflow::cli {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

json small_options() {
  const auto& files = SharedFiles::get();
  return {{"table", files.blocks + "/train.csv"},
          {"valid", files.blocks + "/valid.csv"},
          {"group", "group"},
          {"hidden", 8},
          {"bins", 4},
          {"epochs", 5},
          {"batch-size", 64}};
}

std::string write_specification(const TemporaryFolder& folder, const json& content) {
  const auto path = folder.path("spec.json");
  std::ofstream(path) << content.dump();
  return path;
}

// Cells of results.csv by row; no cell of these tests has commas.
std::vector<std::vector<std::string>> rows_of(const std::string& path) {
  std::istringstream text(content_of(path));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(text, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

std::size_t column(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) -
                                  header.begin());
}

// The words of the fit that a row of results stands for.
Arguments fit_of(const std::vector<std::string>& header,
                 const std::vector<std::string>& row, const std::string& out) {
  const auto& files = SharedFiles::get();
  Arguments words = {"fit",          files.blocks + "/train.csv",
                     "--valid",      files.blocks + "/valid.csv",
                     "--group",      "group",
                     "--hidden",     "8",
                     "--bins",       "4",
                     "--epochs",     "5",
                     "--batch-size", "64",
                     "--replicas",   "1",
                     "--out",        out};
  for (const auto* name : {"learning-rate", "schedule", "seed", "grid"}) {
    const auto at = column(header, name);
    if (at < header.size() && !row[at].empty()) {
      words = words + Arguments{"--" + std::string(name), row[at]};
    }
  }
  return words;
}

// Starts a sweep and kills it in the middle of its second training.
void kill_in_second_training(const TemporaryFolder& folder, const Arguments& sweep,
                             const std::string& out) {
  Process process(sweep + Arguments{"--checkpoint-seconds", "0"}, folder.path("out"),
                  folder.path("err"));
  while (process.is_running() &&
         !std::filesystem::exists(out + "/group2.safetensors")) {
    std::this_thread::sleep_for(1ms);
  }
  ASSERT_TRUE(process.is_running());
  process.kill();
}

TEST(Sweep, EveryRunIsTheFitOfItsOptionsAndTheBestIsARunFolder) {
  const TemporaryFolder folder;
  const auto out = folder.path("sweep");
  run_well({"sweep",
            write_specification(folder, {{"fixed", small_options()},
                                         {"grid",
                                          {{"learning-rate", {0.003, 0.02}},
                                           {"schedule", {"joint", "baseline"}},
                                           {"seed", {1, 2}}}}}),
            "--out", out});
  const auto rows = rows_of(out + "/results.csv");
  ASSERT_EQ(rows.size(), 9u);
  const auto nll = column(rows[0], "valid_nll_nats");
  std::size_t best = 1;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].back(), "finished");
    if (std::stod(rows[i][nll]) < std::stod(rows[best][nll])) best = i;
  }
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}, best}) {
    const auto alone = folder.path("alone" + std::to_string(i));
    run_well(fit_of(rows[0], rows[i], alone));
    const auto record = json::parse(content_of(alone + "/run.json"));
    EXPECT_DOUBLE_EQ(record["result"]["valid_nll_nats"].get<double>(),
                     std::stod(rows[i][nll]));
    EXPECT_EQ(std::to_string(record["result"]["best_epoch"].get<int>()),
              rows[i][column(rows[0], "best_epoch")]);
    if (i != best) continue;
    EXPECT_EQ(content_of(alone + "/metrics.csv"),
              content_of(out + "/best/metrics.csv"));
    EXPECT_TRUE(content_of(alone + "/model.safetensors") ==
                content_of(out + "/best/model.safetensors"));
  }
  run_well({"inspect", out + "/best"});
}

TEST(Sweep, CasesVaryOptionsTogetherAndGridsOfValuesAreOneRun) {
  const TemporaryFolder folder;
  const auto out = folder.path("sweep");
  auto fixed = small_options();
  fixed.erase("table");
  fixed.erase("valid");
  fixed["schedule"] = "grid";
  const auto& files = SharedFiles::get();
  run_well({"sweep",
            write_specification(folder,
                                {{"fixed", fixed},
                                 {"cases",
                                  {{{"table", files.blocks + "/train.csv"},
                                    {"valid", files.blocks + "/valid.csv"}},
                                   {{"table", files.blocks + "/train.csv"},
                                    {"folds", 1},
                                    {"valid-fraction", 0.3}}}},
                                 {"grid", {{"grid", {json::array({0.1, 0.5}), 0.7}}}}}),
            "--out", out, "--threads", "2"});
  const auto text = content_of(out + "/results.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_NE(text.find("\"0.1,0.5\""), std::string::npos);
}

// Runs that hold out whole groups, whose rows are weighted, or with `baseline` are not.
json held_out_options() {
  auto fixed = small_options();
  fixed.erase("valid");
  fixed["seed"] = 3;
  fixed["folds"] = 1;
  return fixed;
}

TEST(Sweep, RunsWithDifferentScoresAreNotCompared) {
  const TemporaryFolder folder;
  const auto out = folder.path("sweep");
  const auto outcome =
      run({"sweep",
           write_specification(folder, {{"fixed", held_out_options()},
                                        {"grid",
                                         {{"learning-rate", {0.003, 0.02}},
                                          {"schedule", {"joint", "baseline"}}}}}),
           "--out", out});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = rows_of(out + "/results.csv");
  ASSERT_EQ(rows.size(), 5u);
  const auto of_rows = column(rows[0], "valid_nll_nats"),
             weighted = column(rows[0], "valid_weighted_nll_nats"),
             schedule = column(rows[0], "schedule");
  ASSERT_LT(of_rows, rows[0].size());
  ASSERT_LT(weighted, rows[0].size());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][of_rows].empty(), rows[i][schedule] == "joint");
    EXPECT_EQ(rows[i][weighted].empty(), rows[i][schedule] == "baseline");
  }
  EXPECT_NE(outcome.err.find("warning: runs have different scores"), std::string::npos)
      << outcome.err;
  for (const auto& [path, score] :
       {std::pair{out + "/best", "weighted"}, std::pair{out + "/best-rows", "rows"}}) {
    EXPECT_NE(outcome.out.find("nats in " + path), std::string::npos) << outcome.out;
    const auto record = json::parse(content_of(path + "/run.json"));
    EXPECT_EQ(record["result"]["valid_score"], score);
    run_well({"inspect", path});
  }
}

TEST(Sweep, OneThatHeldOutOtherRowsIsRefused) {
  const TemporaryFolder folder;
  const auto out = folder.path("sweep");
  run_well({"sweep",
            write_specification(
                folder, {{"fixed", held_out_options()}, {"grid", {{"prior", {0, 1}}}}}),
            "--out", out});
  auto record = json::parse(content_of(out + "/sweep.json"));
  record.erase("validation");
  std::ofstream(out + "/sweep.json") << record.dump();
  expect_refusal(folder, {"sweep", "--resume", out}, {out, "earlier version"});
}

TEST(Sweep, AKilledOneGoesOnToTheSameResults) {
  const TemporaryFolder folder;
  auto fixed = small_options();
  fixed["epochs"] = 60;
  fixed["patience"] = 1000;
  fixed.erase("epochs");
  const auto specification = write_specification(
      folder, {{"fixed", fixed},
               {"grid", {{"learning-rate", {0.003, 0.02}}, {"seed", {1, 2, 3, 4}}}}});
  const auto whole = folder.path("whole"), killed = folder.path("killed");
  run_well({"sweep", specification, "--out", whole});
  kill_in_second_training(folder, {"sweep", specification, "--out", killed}, killed);
  EXPECT_NE(content_of(killed + "/results.csv"), content_of(whole + "/results.csv"));
  run_well({"sweep", "--resume", killed});
  EXPECT_EQ(content_of(killed + "/results.csv"), content_of(whole + "/results.csv"));
  EXPECT_TRUE(content_of(killed + "/best/model.safetensors") ==
              content_of(whole + "/best/model.safetensors"));
  EXPECT_EQ(content_below(killed).size(), content_below(whole).size());
}

TEST(Sweep, ARunThatDivergesIsListedAndTheOthersGoOn) {
  const TemporaryFolder folder;
  const auto out = folder.path("sweep");
  auto fixed = small_options();
  fixed["flow"] = "affine";
  fixed.erase("bins");
  fixed["epochs"] = 30;
  run_well({"sweep",
            write_specification(folder, {{"fixed", fixed},
                                         {"cases",
                                          {{{"learning-rate", 1e6}, {"seed", 1}},
                                           {{"learning-rate", 0.01}, {"seed", 2}}}}}),
            "--out", out});
  const auto text = content_of(out + "/results.csv");
  EXPECT_NE(text.find("failed: training diverged"), std::string::npos) << text;
  EXPECT_NE(text.find("finished"), std::string::npos) << text;
}

TEST(Sweep, ARunThatDivergesBesideSoundOnesIsListedAsFailed) {
  const TemporaryFolder folder;
  const auto out = folder.path("sweep");
  auto fixed = small_options();
  fixed["flow"] = "affine";
  fixed.erase("bins");
  fixed["epochs"] = 30;
  run_well({"sweep",
            write_specification(
                folder, {{"fixed", fixed}, {"grid", {{"learning-rate", {0.01, 1e6}}}}}),
            "--out", out});
  const auto rows = rows_of(out + "/results.csv");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].back(), "finished");
  EXPECT_EQ(rows[2].back().rfind("failed: training diverged", 0), 0u) << rows[2].back();
}

TEST(Sweep, TheNumberOfReplicasIsSettledBeforeTheResumption) {
  const TemporaryFolder folder;
  auto fixed = small_options();
  fixed["patience"] = 1000;
  fixed.erase("epochs");
  const auto specification = write_specification(
      folder,
      {{"fixed", fixed},
       {"grid", {{"learning-rate", {0.003, 0.006, 0.02}}, {"epochs", {30, 60}}}}});
  const auto whole = folder.path("whole"), killed = folder.path("killed");
  run_well({"sweep", specification, "--out", whole});
  kill_in_second_training(
      folder, {"sweep", specification, "--out", killed, "--replicas", "2"}, killed);
  expect_one_error_line(run({"sweep", "--resume", killed, "--replicas", "3"}),
                        {"--replicas:", "--resume"});
  run_well({"sweep", "--resume", killed});
  EXPECT_EQ(content_of(killed + "/results.csv"), content_of(whole + "/results.csv"));
}

TEST(Sweep, BadSpecificationsAreRefusedInOneLine) {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::string& content, const Arguments& mentioned) {
    const auto path = folder.path("bad.json");
    std::ofstream(path) << content;
    const auto out = folder.path("none");
    expect_one_error_line(run({"sweep", path, "--out", out}), mentioned);
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  const auto table = SharedFiles::get().blocks + "/train.csv";
  const auto with = [&](const std::string& grid) {
    return R"({"fixed": {"table": ")" + table + R"(", "group": "group"}, "grid": )" +
           grid + "}";
  };
  refuse("{", {"bad.json", "expected JSON"});
  refuse("[]", {"bad.json", "expected an object"});
  refuse(R"({"options": {}})", {"bad.json", "fixed, cases and grid", "options"});
  refuse(with(R"({"learning-rate": 0.1})"), {"grid.learning-rate", "a list"});
  refuse(with(R"({"learning-rate": []})"), {"grid.learning-rate", "a list"});
  refuse(with(R"({"learning-rate": [0.1, "much"]})"), {"run 2", "--learning-rate"});
  refuse(with(R"({"learning-speed": [0.1]})"), {"run 1", "learning-speed"});
  refuse(with(R"({"threads": [2]})"), {"run 1", "'threads'"});
  refuse(with(R"({"help": [true]})"), {"run 1", "'help'"});
  refuse(with(R"({"drop-missing": ["yes"]})"), {"'drop-missing'", "true or false"});
  refuse(with(R"({"epochs": [true]})"), {"'epochs'", "a value"});
  refuse(with(R"({"learning-rate": [{"a": 1}]})"), {"run 1", "--learning-rate"});
  refuse(with(R"({"out": ["x"]})"), {"run 1", "out"});
  refuse(R"({"fixed": {"group": "group"}, "grid": {"table": ["missing.csv"]}})",
         {"missing.csv"});
  refuse(R"({"fixed": {"group": "group"}})", {"run 1", "a table"});
  refuse(with(R"({"seed": [)" + std::string(3000, ' ') + "]}"), {"grid.seed"});
  refuse(R"({"cases": [{"table": "a", "seed": 1}], "grid": {"seed": [1]}})",
         {"'seed'", "found in both"});
  refuse(with(R"({"seed": [1], "epochs": [2], "seed": [2]})"),
         {"bad.json", "expected every key of an object once, found \"seed\" twice"});
  refuse(with(R"({"columns": [""]})"), {"'columns'", "a value", "\"\""});
  refuse(with(R"({"context": [[]]})"), {"'context'", "a value", "[]"});
  std::filesystem::create_directories(folder.path("taken/best"));
  expect_one_error_line(
      run({"sweep", write_specification(folder, {{"fixed", small_options()}}), "--out",
           folder.path("taken")}),
      {"taken/best", "expected nothing"});
  expect_one_error_line(run({"sweep"}), {"SPEC.json"});
  expect_one_error_line(run({"sweep", "--resume", folder.path("nothing")}),
                        {"sweep.json"});
}

}  // namespace
}  // namespace kinflow::cli
