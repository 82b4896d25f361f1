// Pages of sweeps and studies, and the part of Markdown that reports are written in.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kinflow/pages/page.h"
#include "kinflow/pages/study_page.h"
#include "kinflow/pages/sweep_page.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

TEST(SweepPage, FindsTheAxesAndTheBestRun) {
  const TemporaryFolder folder;
  folder.write("sweep.json", "{\"kinflow_version\": \"0.1.0\"}");
  folder.write("results.csv",
               "run,learning-rate,schedule,seed,valid_nll_nats,best_epoch,epochs_done,"
               "typical_parameter,status\n"
               "1,0.01,joint,0,1.5,3,5,0.4,finished\n"
               "2,0.03,joint,0,1.2,3,5,0.5,finished\n"
               "3,0.03,\"<i>\",0,,,,,\"failed: it \"\"diverged\"\"\"\n");
  const auto document = sweep_page(folder.path());
  const auto& section = document["sections"][0];
  EXPECT_EQ(section["rows"].size(), 3U);
  // The learning rate, the schedule, the strength and the score; not the seed.
  EXPECT_EQ(section["axes"], (nlohmann::json{1, 2, 7, 4}));
  EXPECT_EQ(section["score"], 4);
  EXPECT_NE(document["words"].dump().find("Run 2 has the lowest validation NLL"),
            std::string::npos);
  EXPECT_NE(document["watch"].dump().find("1 run failed"), std::string::npos);
}

// A weighted score is no better or worse than one of rows that count alike.
TEST(SweepPage, ScoresOfDifferentNamesAreNotCompared) {
  const TemporaryFolder folder;
  folder.write("sweep.json", "{}");
  folder.write("results.csv",
               "run,schedule,valid_nll_nats,valid_weighted_nll_nats,status\n"
               "1,joint,,1.1,finished\n2,baseline,1.5,,finished\n"
               "3,joint,,1.2,finished\n4,grid,,,failed\n");
  const auto document = sweep_page(folder.path());
  EXPECT_NE(document["watch"].dump().find("different scores"), std::string::npos);
  const auto words = document["words"].dump();
  EXPECT_NE(words.find("Run 1 has the lowest validation NLL, weighted"),
            std::string::npos);
  EXPECT_NE(words.find("Run 2 has the lowest validation NLL:"), std::string::npos);
  std::vector<std::size_t> runs;
  for (const auto& section : document["sections"]) {
    if (section["type"] == "sweep") runs.push_back(section["rows"].size());
  }
  // The failed run stands with those of most.
  EXPECT_EQ(runs, (std::vector<std::size_t>{3, 1}));
}

TEST(SweepPage, OfBrokenFilesSaysSo) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_sweep(folder.path()));
  folder.write("results.csv", "");
  EXPECT_TRUE(is_sweep(folder.path()));
  for (const std::string text : {"", "a\n", "run,status\n1,finished\n", "a,b\n1\n"}) {
    folder.write("results.csv", text);
    const auto document = sweep_page(folder.path());
    EXPECT_NE(document["watch"].dump().find("The runs cannot be shown"),
              std::string::npos)
        << text;
  }
}

TEST(Markdown, TakesReportsApart) {
  const TemporaryFolder folder;
  const auto blocks = markdown_blocks(
      "## A **title**\n\nTwo lines\nof `code` and <b>text</b>, [a link](x.md).\n\n"
      "| a | b |\n|:--|--:|\n| 1 \\| 2 | *x* |\n\n- one\n- two\n\n![none](../x.png)\n",
      folder.path());
  ASSERT_EQ(blocks.size(), 5U);
  EXPECT_EQ(blocks[0]["kind"], "heading");
  EXPECT_EQ(blocks[0]["text"][1]["strong"], true);
  EXPECT_EQ(blocks[1]["text"][1]["text"], "code");
  EXPECT_EQ(blocks[1]["text"][2]["text"], " and <b>text</b>, a link.");
  EXPECT_EQ(blocks[2]["rows"][0][0][0]["text"], "1 | 2");
  EXPECT_EQ(blocks[2]["left"], (nlohmann::json{true, false}));
  EXPECT_EQ(blocks[3]["items"].size(), 2U);
  // A picture outside the folder is not read.
  EXPECT_EQ(blocks[4]["kind"], "text");
}

TEST(Markdown, OfAnythingMakesBlocks) {
  for (const std::string text :
       {"#", "|", "||", "| a", "![", "![a](", "![a](b", "- ", "`", "**", "[a](", "*"}) {
    EXPECT_NO_THROW(markdown_blocks(text, ".")) << text;
  }
}

TEST(StudyPage, OfAnUnfinishedStudySaysSo) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_study(folder.path()));
  folder.write("study.json",
               "{\"description\": {\"experiment\": \"table1\", \"quick\": true, "
               "\"seeds\": 2}}");
  const auto document = study_page(folder.path());
  EXPECT_NE(document["watch"].dump().find("no report yet"), std::string::npos);
  EXPECT_NE(document["commands"].dump().find("reproduce table1 --seeds 2 --quick"),
            std::string::npos);
}

}  // namespace
}  // namespace kinflow
