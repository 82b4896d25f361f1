// What rows choose where the dependence is left open.
#include "kinflow/fit/choose_dependence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

struct Groups {
  int count = 200;
  int rows = 6;
  std::vector<double> rhos = {0.5, 0.5};
  double deviation = 0;  // of the logit of a group's correlations
};

class DependenceChoices : public testing::Test {
 protected:
  FitRequest request_for(const Groups& groups, std::uint64_t seed = 1) {
    Random random(seed);
    std::string text;
    for (std::size_t j = 0; j < groups.rhos.size(); ++j) text += fmt::format("x{},", j);
    text += "group\n";
    for (int group = 0; group < groups.count; ++group) {
      const double effect = groups.deviation * random.normal();
      std::vector<double> own, shared;
      for (const double rho : groups.rhos) {
        own.push_back(1 / (1 + (1 - rho) / rho * std::exp(-effect)));
        shared.push_back(random.normal());
      }
      for (int i = 0; i < groups.rows; ++i) {
        for (std::size_t j = 0; j < own.size(); ++j) {
          text += fmt::format("{},", std::sqrt(own[j]) * shared[j] +
                                         std::sqrt(1 - own[j]) * random.normal());
        }
        text += fmt::format("g{}\n", group);
      }
    }
    FitRequest request;
    request.data.table = folder_.write("train.csv", text);
    request.data.dependence.group = "group";
    return with_defaults(request);
  }

  DependenceChoice choice_for(const Groups& groups, std::uint64_t seed = 1) {
    const auto request = request_for(groups, seed);
    return choose_correlation(request, read_fit_rows(request.data, request.flow).train);
  }

  const TemporaryFolder folder_;
  Logger silent_;
};

TEST_F(DependenceChoices, GroupsAndLatentsThatAreAlikeShareACorrelation) {
  // Of eight tables some look otherwise by chance.
  int shared = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto choice = choice_for({}, seed);
    EXPECT_EQ(choice.candidates.size(), 4);
    shared += choice.request.correlation == BlockCorrelation::shared ? 1 : 0;
  }
  EXPECT_GE(shared, 7);
}

TEST_F(DependenceChoices, RowsThatAreHardlyDependentAskForNoMore) {
  // Candidates that say the same of such rows differ by rounding.
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const double rho : {1e-6, 0.05}) {
      EXPECT_EQ(choice_for({.rows = 4, .rhos = {rho}}, seed).request.correlation,
                BlockCorrelation::shared)
          << "seed " << seed << ", rho " << rho;
    }
  }
}

TEST_F(DependenceChoices, LatentsThatDifferHaveTheirOwn) {
  EXPECT_EQ(choice_for({.rhos = {0.8, 0.2}}).request.correlation,
            BlockCorrelation::per_latent);
}

TEST_F(DependenceChoices, GroupsThatDifferHaveTheirOwn) {
  EXPECT_EQ(choice_for({.rows = 12, .deviation = 2}).request.correlation,
            BlockCorrelation::per_block);
}

TEST_F(DependenceChoices, BothDiffer) {
  EXPECT_EQ(choice_for({.rows = 12, .rhos = {0.8, 0.2}, .deviation = 1.5})
                .request.correlation,
            BlockCorrelation::per_block_and_latent);
}

TEST_F(DependenceChoices, OneColumnHasNoLatentsThatDiffer) {
  const auto choice = choice_for({.rows = 12, .rhos = {0.5}, .deviation = 2});
  EXPECT_EQ(choice.candidates.size(), 2);
  EXPECT_EQ(choice.request.correlation, BlockCorrelation::per_block);
}

TEST_F(DependenceChoices, FewGroupsAreNotCompared) {
  const auto choice = choice_for({.count = 8, .rhos = {0.8, 0.2}});
  EXPECT_EQ(choice.request.correlation, BlockCorrelation::shared);
  EXPECT_TRUE(choice.candidates.empty());
  EXPECT_EQ(choice.line(),
            "correlation shared, since there are fewer than 10 blocks of several rows");
}

TEST_F(DependenceChoices, AreTheSameForTheSameRowsAndSayWhy) {
  const Groups groups{.rhos = {0.8, 0.2}};
  const auto first = choice_for(groups), second = choice_for(groups);
  EXPECT_EQ(to_json(first), to_json(second));
  EXPECT_NE(first.line().find("per-latent 0.0000"), std::string::npos) << first.line();
}

TEST_F(DependenceChoices, AFitKeepsTheChoiceWithItsEvidence) {
  auto request = request_for({.count = 60, .rhos = {0.9, 0.1}});
  request.flow.hidden = {4};
  request.vary_flow = false;
  request.data.folds = 2;
  request.replicas.count = 2;
  request.train.epochs = 2;
  const auto result = fit(request, {.directory = folder_.path("run")}, silent_);
  const auto& record = result.model.record;
  EXPECT_EQ(record["dependence_choice"]["chosen"], "correlation per-latent");
  EXPECT_EQ(record["request"]["dependence"]["correlation"], "choose");
  EXPECT_EQ(result.model.dependence.latents, 2);
}

TEST_F(DependenceChoices, WhatTheUserNamesIsNotOpen) {
  auto request = request_for({});
  EXPECT_TRUE(leaves_blocks_open(request));
  request.data.dependence.correlation = BlockCorrelation::per_block;
  EXPECT_FALSE(leaves_blocks_open(request));
  request.data.dependence.correlation.reset();
  request.train.schedule = Schedule::grid;
  EXPECT_FALSE(leaves_blocks_open(request));
}

}  // namespace
}  // namespace kinflow
