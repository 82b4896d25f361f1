// Records of runs in words, whole, broken and missing.
#include "kinflow/pages/run_record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/pages/learning_curves.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/repeat_command.h"
#include "kinflow/pages/shared_parts_section.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

nlohmann::json small_record() {
  return {{"status", "finished"},
          {"kinflow_version", "0.1.0"},
          {"request",
           {{"data", {{"table", "my table.csv"}, {"split_by", "dependence"}}},
            {"dependence", {{"group", "family"}, {"time_kernel", "none"}}},
            {"vary_flow", true},
            {"train", {{"schedule", "joint"}, {"epochs", 100}, {"seed", 7}}},
            {"replicas", {{"count", 16}}}}},
          {"result",
           {{"train_rows", 2000},
            {"epochs", 100},
            {"best_epoch", 99},
            {"columns", {"a", "b"}},
            {"cross_validation",
             {{"nll_nats", 1.5},
              {"standard_error", 0.1},
              {"folds", 5},
              {"units", 12},
              {"worth_of_rows", 20}}}}}};
}

bool mentions(const nlohmann::json& document, const std::string& what) {
  return document.dump().find(what) != std::string::npos;
}

TEST(RunRecord, TellsWhatToWatch) {
  const TemporaryFolder folder;
  folder.write("run.json", small_record().dump());
  const auto document = run_document(read_run_record(folder.path()));
  EXPECT_TRUE(mentions(document["watch"], "only 12 units"));
  EXPECT_TRUE(mentions(document["watch"], "worth only 20 independent"));
  EXPECT_TRUE(mentions(document["watch"], "best epoch is 99 of 100"));
}

TEST(RunRecord, ShowsWhatColumnsShareWhereItIsKnown) {
  auto document = empty_document("fit", "run");
  const nlohmann::json estimate = {{"share", 0.4}, {"low", 0.3}, {"high", 0.5}};
  auto result = small_record()["result"];
  add_shared_parts_sections(result, document);
  result["shared_parts"] = "broken";
  add_shared_parts_sections(result, document);
  EXPECT_TRUE(document["sections"].empty());
  auto known = estimate;
  known["column"] = "a";
  known["of_normal_scores"] = estimate;
  result["shared_parts"] = {
      {{"share", "heritability"},
       {"columns", {known, {{"column", "b"}, {"of_normal_scores", estimate}}, 7}}}};
  add_shared_parts_sections(result, document);
  ASSERT_EQ(document["sections"].size(), 1);
  EXPECT_EQ(document["sections"][0]["rows"][0], (nlohmann::json{"a", 0.4, 0.3, 0.5}));
  EXPECT_EQ(document["sections"][0]["rows"][1][0], "b (normal scores)");
}

TEST(RunRecord, DoesNotWarnOfASoundRun) {
  const TemporaryFolder folder;
  auto record = small_record();
  record["result"]["best_epoch"] = 40;
  record["result"]["cross_validation"]["units"] = 300;
  record["result"]["cross_validation"]["worth_of_rows"] = 900;
  folder.write("run.json", record.dump());
  EXPECT_TRUE(run_document(read_run_record(folder.path()))["watch"].empty());
}

TEST(RunRecord, OfAnythingMakesADocument) {
  const TemporaryFolder folder;
  for (const std::string text :
       {"", "{", "[]", "7", "{\"status\": 4, \"request\": [], \"result\": \"x\"}",
        "{\"request\": {\"data\": 3, \"train\": {\"seed\": \"x\"}}}",
        "{\"result\": {\"members\": {}, \"inference\": {\"estimates\": [1, {}]}}}"}) {
    folder.write("run.json", text);
    EXPECT_NO_THROW(run_document(read_run_record(folder.path()))) << text;
  }
  EXPECT_TRUE(mentions(run_document(read_run_record(folder.path("none"))),
                       "run.json is not there"));
}

TEST(RunRecord, OfAnEarlierVersionLacksOnlyWhatItDoesNotHave) {
  const TemporaryFolder folder;
  auto record = small_record();
  for (const auto* key : {"cross_validation", "columns"}) record["result"].erase(key);
  record["result"]["valid_nll_nats"] = 1.25;
  record["request"].erase("replicas");
  folder.write("run.json", record.dump());
  const auto document = run_document(read_run_record(folder.path()));
  EXPECT_TRUE(mentions(document["facts"], "1.250"));
  EXPECT_TRUE(mentions(document["words"], "the table\u2019s columns"));
  EXPECT_FALSE(mentions(document["words"], "nan"));
  EXPECT_FALSE(mentions(document["words"], "?"));
  EXPECT_FALSE(mentions(document["provenance"], "validation"));
}

TEST(RepeatCommand, HasWhatIsNotTheDefaultAndQuotesWords) {
  EXPECT_EQ(repeat_fit_command(small_record(), "out"),
            "kinflow fit 'my table.csv' --group family --seed 7 --out out");
  auto record = small_record();
  record["request"]["dependence"]["group"] = "";
  record["request"]["data"]["columns"] = {"a", "b, c"};
  record["request"]["data"]["folds"] = 3;
  record["request"]["data"]["bounds"] = {"a=0:", "b, c=0:1"};
  record["request"]["train"] = {{"schedule", "baseline"}, {"epochs", 20}, {"seed", 0}};
  EXPECT_EQ(repeat_fit_command(record, "it's"),
            "kinflow fit 'my table.csv' --independent --folds 3 --columns "
            "'a,\"b, c\"' --bounds 'a=0:,\"b, c=0:1\"' --epochs 20 --out 'it'\\''s'");
}

TEST(InProse, NumbersAsPeopleWriteThem) {
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-1234), "-1,234");
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(in_prose(0.12345), "0.123");
  EXPECT_EQ(in_prose(25000), "25,000");
  EXPECT_EQ(p_in_prose(1), "0.1");
  EXPECT_EQ(p_in_prose(778.2237), "6.0\u00a0\u00d7\u00a010\u207b\u2077\u2077\u2079");
  EXPECT_EQ(p_in_prose(8), "1.0\u00a0\u00d7\u00a010\u207b\u2078");
  EXPECT_EQ(p_in_prose(3.001), "1.0\u00a0\u00d7\u00a010\u207b\u00b3");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(listed({"a", "b", "c", "d"}, 3), "a, b and 2 more");
}

TEST(LearningCurves, KeepTheBestEpochOfLongHistories) {
  const TemporaryFolder folder;
  std::string text =
      "epoch,fold,replica,train_nll_nats,valid_nll_nats,learning_rate,"
      "typical_parameter\n";
  for (int epoch = 0; epoch <= 5000; ++epoch) {
    const double score = epoch == 3333 ? 0.5 : 1 + 1.0 / (1 + epoch);
    text += std::to_string(epoch) + ",1,4,1," + std::to_string(score) + ",0.01,0\n";
  }
  const auto path = folder.write("metrics.csv", text);
  const auto section = learning_curves(
      path, {{"result", {{"members", {{{"replica", 4}, {"best_epoch", 3333}}}}}}});
  const auto& curve = section["series"][0];
  EXPECT_LE(curve["epoch"].size(), kMostCurveEpochs + 3);
  EXPECT_EQ(curve["epoch"].front(), 0);
  EXPECT_EQ(curve["epoch"].back(), 5000);
  EXPECT_EQ(curve["best_score"], 0.5);
  EXPECT_TRUE(curve["member"].get<bool>());
  const auto& epochs = curve["epoch"];
  EXPECT_NE(std::find(epochs.begin(), epochs.end(), nlohmann::json(3333.0)),
            epochs.end());
}

TEST(LearningCurves, KeepEveryMemberAmongManyFlows) {
  const TemporaryFolder folder;
  std::string text = "epoch,replica,train_nll_nats,valid_nll_nats\n";
  for (int replica = 0; replica < 1000; ++replica) {
    text += "0," + std::to_string(replica) + ",,2\n";
  }
  const auto path = folder.write("metrics.csv", text);
  const auto section =
      learning_curves(path, {{"result", {{"best_replica", 777}, {"best_epoch", 0}}}});
  EXPECT_LE(section["series"].size(), kMostOtherCurves + 1);
  std::size_t members = 0;
  for (const auto& curve : section["series"]) members += curve["member"] == true;
  EXPECT_EQ(members, 1U);
}

TEST(LearningCurves, SayWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(learning_curves(folder.path("metrics.csv"), {}).contains("missing"));
  for (const std::string text : {"", "a,b\n1,2\n", "epoch,replica\n", "epoch,x\n1\n"}) {
    const auto path = folder.write("metrics.csv", text);
    EXPECT_TRUE(learning_curves(path, {}).contains("missing")) << text;
  }
}

}  // namespace
}  // namespace kinflow
