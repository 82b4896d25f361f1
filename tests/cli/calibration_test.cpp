// Replicas, calibration and standardisation of fits by the real binary.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kinflow/array/array.h"
#include "kinflow/data/table.h"
#include "kinflow/model/model.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

Json record_in(const std::string& run_folder) {
  return Json::parse(content_of(run_folder + "/run.json"));
}

double score(const std::string& run_folder, const std::string& table) {
  return Json::parse(run_well({"evaluate", run_folder, table, "--json"}))
      .at("mean_nll_nats")
      .get<double>();
}

/// A fit of the shared blocks with their validation table.
void fit_blocks(const std::string& out, const Arguments& more) {
  const auto& files = SharedFiles::get();
  run_well(Arguments{"fit", files.blocks + "/train.csv", "--group", "group", "--valid",
                     files.blocks + "/valid.csv", "--out", out} +
           small_fit(more));
}

/// The lines of metrics.csv that belong to a replica.
std::vector<std::string> metrics_of(const std::string& run_folder, int replica) {
  std::istringstream text(content_of(run_folder + "/metrics.csv"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    const auto own = fmt::format(",1,{},", replica);  // of the only fold
    if (line.compare(line.find(','), own.size(), own) == 0) lines.push_back(line);
  }
  return lines;
}

TEST(CalibrationOfFits, TheRecordedNllIsThatOfTheModelOnTheValidationTable) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  for (const std::string members : {"1", "3"}) {
    SCOPED_TRACE(members);
    const auto blocks = folder.path("blocks" + members);
    fit_blocks(blocks, {"--replicas", "4", "--ensemble", members});
    EXPECT_NEAR(score(blocks, files.blocks + "/valid.csv"),
                record_in(blocks)["result"]["valid_nll_nats"].get<double>(), 1e-6);
    const auto related = folder.path("related" + members);
    run_well(Arguments{"fit", files.relatives + "/train.csv", "--valid",
                       files.relatives + "/valid.csv", "--out", related} +
             files.by_matrix() + small_fit({"--replicas", "4", "--ensemble", members}));
    EXPECT_NEAR(score(related, files.relatives + "/valid.csv"),
                record_in(related)["result"]["valid_nll_nats"].get<double>(), 1e-6);
  }
}

TEST(CalibrationOfFits, CanBeLeftOut) {
  const auto& files = SharedFiles::get();
  const auto with = load_model(files.blocks_run + "/model.safetensors");
  const auto without = load_model(files.plain_run + "/model.safetensors");
  EXPECT_TRUE(with.calibration);
  EXPECT_FALSE(without.calibration);
  EXPECT_EQ(record_in(files.blocks_run)["request"]["calibrate"], true);
  EXPECT_EQ(record_in(files.plain_run)["request"]["calibrate"], false);
  EXPECT_NEAR(score(files.plain_run, files.blocks + "/valid.csv"),
              record_in(files.plain_run)["result"]["valid_nll_nats"].get<double>(),
              1e-6);
  // 80 independent rows place these latents better than the largest blocks.
  EXPECT_LT(score(files.blocks_run, files.blocks + "/test.csv"),
            score(files.plain_run, files.blocks + "/test.csv"));
}

TEST(CalibrationOfFits, IsShownByInspect) {
  const auto& files = SharedFiles::get();
  const auto model = load_model(files.blocks_run + "/model.safetensors");
  const auto shown = Json::parse(run_well({"inspect", files.blocks_run, "--json"}));
  EXPECT_EQ(shown["members"][0]["calibration"]["mean"][1].get<double>(),
            model.calibration->mean[0][1].item<double>());
  EXPECT_EQ(shown["members"][0]["calibration"]["deviation"][0].get<double>(),
            model.calibration->deviation[0][0].item<double>());
  EXPECT_NE(run_well({"inspect", files.blocks_run}).find("calibration"),
            std::string::npos);
  EXPECT_EQ(run_well({"inspect", files.plain_run}).find("calibration"),
            std::string::npos);
}

TEST(Standardisation, CanBeLeftOut) {
  const TemporaryFolder folder;
  fit_blocks(folder.path("run"), {"--no-standardize"});
  const auto model = load_model(folder.path("run/model.safetensors"));
  EXPECT_TRUE(
      nd::equal(model.parts[0].standardization.mean, nd::zeros({2}, nd::kDouble)));
  EXPECT_TRUE(
      nd::equal(model.parts[0].standardization.deviation, nd::ones({2}, nd::kDouble)));
  EXPECT_NEAR(score(folder.path("run"), SharedFiles::get().blocks + "/valid.csv"),
              record_in(folder.path("run"))["result"]["valid_nll_nats"].get<double>(),
              1e-6);
}

TEST(ReplicasOfFits, TheFirstOfThreeIsTheFitOfOne) {
  const TemporaryFolder folder;
  fit_blocks(folder.path("one"), {"--replicas", "1"});
  fit_blocks(folder.path("three"), {"--replicas", "3"});
  const auto alone = metrics_of(folder.path("one"), 0);
  ASSERT_EQ(alone.size(), 4u);
  EXPECT_EQ(metrics_of(folder.path("three"), 0), alone);
  EXPECT_NE(metrics_of(folder.path("three"), 1), alone);
}

TEST(ReplicasOfFits, AreEightInEachOfFiveFoldsUnlessAsked) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  run_well({"fit", files.blocks + "/train.csv", "--group", "group", "--hidden", "8",
            "--bins", "4", "--epochs", "2", "--out", folder.path("run")});
  // And half as many row flows.
  EXPECT_EQ(read_table(folder.path("run/metrics.csv")).rows(), 5 * (8 + 4) * 3);
  EXPECT_EQ(record_in(folder.path("run"))["request"]["replicas"]["count"], 8);
  EXPECT_EQ(record_in(folder.path("run"))["request"]["replicas"]["weight_decays"],
            Json({0.001, 0.01}));
}

TEST(ReplicasOfFits, TakeTheirListsFromTheCommandLine) {
  const TemporaryFolder folder;
  fit_blocks(folder.path("run"),
             {"--replicas", "4", "--learning-rate", "0.02", "--weight-decay", "0,0.5",
              "--start", "0.2,0.6", "--memory-share", "0.1", "--estimator", "hybrid",
              "--normal-scores", "no"});
  const auto replicas = record_in(folder.path("run"))["request"]["replicas"];
  EXPECT_EQ(replicas["learning_rates"], Json::array({0.02}));
  EXPECT_EQ(replicas["weight_decays"], Json({0.0, 0.5}));
  EXPECT_EQ(replicas["starts"], Json({0.2, 0.6}));
  EXPECT_EQ(replicas["memory_shares"], Json::array({0.1}));
  const auto typical = numeric_matrix(read_table(folder.path("run/metrics.csv")),
                                      {"replica", "typical_parameter"})
                           .values;
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_NEAR(typical[2 * r + 1], r < 2 ? 0.2 : 0.6, 1e-9) << r;
  }
}

TEST(ReplicasOfFits, ImpossibleValuesAreRefused) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const std::vector<Arguments> bad = {
      {"--replicas", "0"},       {"--replicas", "-1"},     {"--replicas", "100001"},
      {"--replicas", "many"},    {"--weight-decay", "-1"}, {"--weight-decay", "0.1,x"},
      {"--memory-share", "0,2"}, {"--start", "0.5,1"}};
  for (const auto& option : bad) {
    expect_refusal(folder,
                   Arguments{"fit", files.blocks + "/train.csv", "--group", "group",
                             "--out", folder.path("run")} +
                       option,
                   {option[0]});
  }
}

TEST(ReplicasOfSweeps, AreOneUnlessAskedAndCountForTheNumberSideBySide) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  Json fixed = {{"table", files.blocks + "/train.csv"},
                {"valid", files.blocks + "/valid.csv"},
                {"group", "group"},
                {"hidden", 8},
                {"bins", 4},
                {"epochs", 2}};
  const auto sweep = [&](const std::string& name) {
    const Json specification = {{"fixed", fixed},
                                {"grid", {{"learning-rate", {0.003, 0.01}}}}};
    const auto path = folder.write(name + ".json", specification.dump());
    run_well({"sweep", path, "--replicas", "3", "--out", folder.path(name)});
    return Json::parse(content_of(folder.path(name) + "/sweep.json"));
  };
  const auto one = sweep("one");
  EXPECT_EQ(read_table(folder.path("one/best/metrics.csv")).rows(), 3);
  fixed["replicas"] = 2;
  const auto two = sweep("two");
  EXPECT_EQ(read_table(folder.path("two/best/metrics.csv")).rows(), 2 * 3);
  // Two runs of two replicas do not fit into three side by side.
  EXPECT_EQ(one["groups"].size(), 1u) << one.dump();
  EXPECT_EQ(two["groups"].size(), 2u);
}

}  // namespace
}  // namespace kinflow::cli
