// What a fit says of its scores, its restarts and its time, through the real binary.
#include <fstream>
#include <nlohmann/json.hpp>

#include "kinflow/data/table.h"
#include "kinflow/model/model.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using nlohmann::json;

const std::string kOfRows = "valid_nll_nats";
const std::string kWeighted = "valid_weighted_nll_nats";
const std::string kJoint = "valid_joint_nll_nats_per_row";

json record_of(const std::string& run_folder) {
  return json::parse(content_of(run_folder + "/run.json"));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void replace(const std::string& path, const std::string& from, const std::string& to) {
  auto text = content_of(path);
  const auto place = text.find(from);
  ASSERT_NE(place, std::string::npos) << path;
  text.replace(place, from.size(), to);
  std::ofstream(path, std::ios::binary) << text;
}

/// A fit that holds out whole groups of its table, with two members.
Outcome fit_weighted(const std::string& out) {
  return run(Arguments{"fit", SharedFiles::get().blocks + "/train.csv", "--group",
                       "group", "--ensemble", "2", "--out", out} +
             small_fit({"--replicas", "2"}));
}

TEST(ValidScores, EachHasItsOwnNameAndTheOtherIsAbsent) {
  const TemporaryFolder folder;
  const auto weighted = folder.path("weighted"), rows = folder.path("rows");
  const auto& files = SharedFiles::get();
  const std::vector<std::pair<std::string, Outcome>> runs = {
      {weighted, fit_weighted(weighted)},
      {rows,
       run(Arguments{"fit", files.blocks + "/train.csv", "--group", "group", "--valid",
                     files.blocks + "/valid.csv", "--ensemble", "2", "--out", rows} +
           small_fit({"--replicas", "2"}))}};
  for (const auto& [path, outcome] : runs) {
    SCOPED_TRACE(path);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const bool is_weighted = path == weighted;
    const auto& own = is_weighted ? kWeighted : kOfRows;
    const auto& other = is_weighted ? kOfRows : kWeighted;
    const auto label = is_weighted ? "valid NLL of weighted rows " : "valid NLL ";
    const auto result = record_of(path)["result"];
    EXPECT_EQ(result["valid_score"], is_weighted ? "weighted" : "rows");
    EXPECT_TRUE(result.contains(own));
    EXPECT_FALSE(result.contains(other));
    for (const auto& member : result["members"]) {
      EXPECT_TRUE(member.contains(own));
      EXPECT_FALSE(member.contains(other));
    }
    const auto names = read_table(path + "/metrics.csv").names();
    EXPECT_EQ(std::count(names.begin(), names.end(), own), 1);
    EXPECT_EQ(std::count(names.begin(), names.end(), other), 0);
    EXPECT_TRUE(holds(outcome.out, label)) << outcome.out;
    EXPECT_TRUE(holds(outcome.err, label)) << outcome.err;
    const auto text = run_well({"inspect", path});
    EXPECT_TRUE(holds(text, label)) << text;
    EXPECT_EQ(holds(text, "of weighted rows"), is_weighted) << text;
    const auto shown = json::parse(run_well({"inspect", path, "--json"}));
    EXPECT_TRUE(shown["members"][0].contains(own));
    EXPECT_FALSE(shown["members"][0].contains(other));
    EXPECT_TRUE(shown["history"][0].contains(own));
    EXPECT_FALSE(shown["history"][0].contains(other));
  }
}

TEST(ValidScores, AnOldRunIsShownUnderTheNameOfItsScore) {
  const TemporaryFolder folder;
  const auto path = folder.path("run");
  ASSERT_EQ(fit_weighted(path).exit_code, 0);
  // As runs were written when held-out rows were scored together, under the name of
  // single rows.
  const auto make_old = [](json& object) {
    object[kOfRows] = object.at(kWeighted);
    object.erase(kWeighted);
  };
  auto model = load_model(path + "/model.safetensors");
  make_old(model.record);
  model.record["valid_score"] = "joint";
  for (auto& member : model.record["members"]) make_old(member);
  save_model(path + "/model.safetensors", model);
  replace(path + "/metrics.csv", kWeighted, kOfRows);
  EXPECT_TRUE(holds(run_well({"inspect", path}), "valid joint NLL per row "));
  const auto shown = json::parse(run_well({"inspect", path, "--json"}));
  for (const auto& place :
       {shown["record"], shown["members"][1], shown["history"][0]}) {
    EXPECT_TRUE(place.contains(kJoint));
    EXPECT_FALSE(place.contains(kOfRows));
  }
  run_well({"evaluate", path, SharedFiles::get().blocks + "/test.csv"});
}

TEST(ValidScores, AnUnfinishedRunThatHeldOutOtherRowsIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.path("run");
  ASSERT_EQ(fit_weighted(path).exit_code, 0);
  auto record = record_of(path);
  record["request"]["data"].erase("folds");
  record["status"] = "running";
  std::ofstream(path + "/run.json") << record.dump();
  std::filesystem::remove(path + "/model.safetensors");
  expect_refusal(folder, {"fit", "--resume", path}, {path, "earlier version"});
}

TEST(Restarts, ThatEndWellAreCountedAndNoWarning) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto path = folder.path("run");
  const auto outcome =
      run(Arguments{"fit", files.blocks + "/train.csv", "--group", "group", "--valid",
                    files.blocks + "/valid.csv", "--learning-rate", "0.01,10",
                    "--normal-scores", "no", "--out", path} +
          small_fit({"--replicas", "2"}, "10"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(holds(outcome.err, "diverged")) << outcome.err;
  EXPECT_FALSE(holds(outcome.err, "warning")) << outcome.err;
  EXPECT_GT(record_of(path)["result"]["restarts"].get<int>(), 0);
  EXPECT_TRUE(holds(run_well({"inspect", path}), "restarts"));
}

TEST(Restarts, ALostReplicaWarnsOnlyWhereTheEnsembleLacksIt) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  for (const std::string members : {"1", "2"}) {
    const auto path = folder.path("run" + members);
    const auto outcome = run(Arguments{"fit",
                                       files.blocks + "/train.csv",
                                       "--group",
                                       "group",
                                       "--valid",
                                       files.blocks + "/valid.csv",
                                       "--flow",
                                       "affine",
                                       "--learning-rate",
                                       "0.01,1000000",
                                       "--normal-scores",
                                       "no",
                                       "--ensemble",
                                       members,
                                       "--out",
                                       path,
                                       "--hidden",
                                       "8",
                                       "--epochs",
                                       "30",
                                       "--batch-size",
                                       "64",
                                       "--replicas",
                                       "2"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(record_of(path)["result"]["lost_replicas"], 1);
    EXPECT_TRUE(holds(run_well({"inspect", path}), "1 replica is left out"));
    EXPECT_EQ(holds(outcome.err, "warning"), members == "2") << outcome.err;
    EXPECT_EQ(holds(outcome.err, "diverged for good"), members == "2") << outcome.err;
  }
}

TEST(LateBest, IsSaidByTheFitAndByInspect) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto path = folder.path("run");
  const auto outcome = run(Arguments{"fit", files.blocks + "/train.csv", "--group",
                                     "group", "--valid", files.blocks + "/valid.csv",
                                     "--learning-rate", "0.001", "--out", path} +
                           small_fit());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(record_of(path)["result"]["best_epoch"], 3);
  const std::string said = "train longer: the best epoch is 3 of 3";
  EXPECT_TRUE(holds(outcome.err, said)) << outcome.err;
  EXPECT_TRUE(holds(run_well({"inspect", path}), said));
}

TEST(TimeLeft, IsNotAnnouncedBeforeItIsKnown) {
  const TemporaryFolder folder;
  const auto outcome = fit_weighted(folder.path("run"));
  EXPECT_TRUE(holds(outcome.err, "epoch 1/3")) << outcome.err;
  EXPECT_FALSE(holds(outcome.err, " left")) << outcome.err;
}

}  // namespace
}  // namespace kinflow::cli
