// Tables of repeat measurements: splits, weights, and the report's claims.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "kinflow/array/array.h"
#include "kinflow/data/table.h"
#include "report_rows.h"
#include "studies/repeat_data.h"
#include "studies/repeat_report.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

// Groups of 1 to 4 rows; in time the rows of a group stand in a random order.
TableRows rows_of_groups(std::int64_t groups, bool in_time) {
  TableRows rows;
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t row = 0; row <= group % 4; ++row) {
      rows.labels.push_back(fmt::format("g{}", group));
      if (in_time) rows.times.values.push_back(static_cast<double>((row * 3) % 5));
    }
  }
  rows.data = nd::zeros({std::ssize(rows.labels), 1}, nd::kDouble);
  return rows;
}

std::map<std::string, std::vector<std::int64_t>> by_label(
    const TableRows& rows, const std::vector<std::int64_t>& some) {
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const auto row : some) {
    found[rows.labels[static_cast<std::size_t>(row)]].push_back(row);
  }
  return found;
}

TEST(SplitRepeats, HoldsOutThreeTenthsOfTheGroupsAsAWhole) {
  const auto rows = rows_of_groups(40, false);
  const auto split = split_repeats(rows, 4000, "t.csv");
  const auto train = by_label(rows, split.train), test = by_label(rows, split.test);
  EXPECT_EQ(train.size(), 28U);
  for (const auto& [label, of_group] : test) {
    EXPECT_FALSE(train.contains(label));
    EXPECT_GE(of_group.size(), 2U);
  }
  EXPECT_EQ(split.given.size() + split.next.size(), split.test.size());
  EXPECT_NE(split_repeats(rows, 4001, "t.csv").train, split.train);
}

TEST(SplitRepeats, TheLatestRowIsTheNextOne) {
  const auto rows = rows_of_groups(40, true);
  const auto split = split_repeats(rows, 4000, "t.csv");
  const auto given = by_label(rows, split.given), next = by_label(rows, split.next);
  EXPECT_EQ(given.size(), next.size());
  for (const auto& [label, of_group] : next) {
    ASSERT_EQ(of_group.size(), 1U);
    const auto time = [&](std::int64_t row) {
      return rows.times.values[static_cast<std::size_t>(row)];
    };
    for (const auto row : given.at(label)) EXPECT_LT(time(row), time(of_group[0]));
  }
}

TEST(SplitRepeats, WithoutTimesHalfOfAGroupIsNext) {
  const auto rows = rows_of_groups(40, false);
  std::set<std::int64_t> first_next;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto split = split_repeats(rows, seed, "t.csv");
    const auto given = by_label(rows, split.given), next = by_label(rows, split.next);
    for (const auto& [label, of_group] : next) {
      const auto both = of_group.size() + given.at(label).size();
      EXPECT_EQ(given.at(label).size(), both / 2);
      if (label == "g39") first_next.insert(of_group.front());
    }
  }
  EXPECT_GT(first_next.size(), 1U);
}

TEST(SplitRepeats, RefusesTablesWithoutRepeats) {
  TableRows rows;
  for (int i = 0; i < 10; ++i) rows.labels.push_back(fmt::format("{}", i));
  rows.data = nd::zeros({10, 1}, nd::kDouble);
  EXPECT_NE(input_error_of([&] {
              split_repeats(rows, 1, "t.csv");
            }).find("t.csv: expected groups of several rows"),
            std::string::npos);
}

TEST(Repeats, EveryGroupCountsOnce) {
  EXPECT_DOUBLE_EQ(mean_over_groups({1, 2, 3, 10}, {"a", "a", "a", "b"}), 6);
}

TEST(Repeats, RefusesFilesThatAreNotThereAndValuesWithoutALogarithm) {
  const TemporaryFolder folder;
  const auto error_of = [&](std::size_t table) {
    return input_error_of([&] { read_repeats(repeat_tables()[table], folder.path()); });
  };
  const auto missing = error_of(0);
  for (const auto* text : {"pbcseq.csv", "id, day, bili", "found none in"}) {
    EXPECT_NE(missing.find(text), std::string::npos) << missing;
  }
  folder.write("pbcseq.csv",
               "id,day,bili,albumin,ast,platelet,protime\n1,0,1,2,3,4,5\n"
               "1,9,1,2,0,4,5\n");
  const auto zero = error_of(0);
  for (const auto* text : {"pbcseq.csv:3", "ast", "found 0"}) {
    EXPECT_NE(zero.find(text), std::string::npos) << zero;
  }
  EXPECT_EQ(read_repeats(repeat_tables()[1], folder.path()).data.size(0), 2);
  EXPECT_NE(input_error_of([] { chosen_repeat_tables({"pbc"}); }).find("'pbc'"),
            std::string::npos);
}

// Two splits of a table, with these NLLs of the adjusted flow above the others.
std::vector<RepeatTrial> trials(double above_independent, double above_normal) {
  std::vector<RepeatTrial> all;
  for (const auto& table : repeat_tables()) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const double noise = seed == 0 ? 0.001 : -0.001;
      RepeatTrial trial{.table = table.name, .seed = seed};
      trial.scores = {{repeat_method::kGroup, 1, 1 + above_independent + noise, 1, 0.2},
                      {repeat_method::kIndependent, 1, 1, 1, 1},
                      {repeat_method::kNormal, 1, 1, 1, 0.2 - above_normal + noise}};
      trial.dependence = "correlation per-latent";
      if (table.name == "pbcseq") trial.logarithms_of_next = 0.1;
      all.push_back(trial);
    }
  }
  return all;
}

TEST(RepeatsReport, SaysWhichClaimsHold) {
  const auto has = [](const std::string& row, const std::string& text) {
    return row.find(text) != std::string::npos;
  };
  const auto& tables = repeat_tables();
  const auto good = repeats_report(tables, trials(0.004, -0.3));
  const auto bad = repeats_report(tables, trials(0.021, 0.1));
  const std::string above =
      "rows, every group equally, `--group` above `--independent`: ";
  const std::string next = "next rows below the random-intercept normal: ";
  for (const auto& table : tables) {
    EXPECT_TRUE(has(row_of(good, above + table.title), "| yes |")) << good;
    EXPECT_TRUE(has(row_of(bad, above + table.title), "| no |")) << bad;
    EXPECT_TRUE(has(row_of(good, next + table.title), "| yes |")) << good;
    EXPECT_TRUE(has(row_of(bad, next + table.title), "| no |")) << bad;
  }
  const auto mean = above + "mean over the tables";
  EXPECT_TRUE(has(row_of(good, mean), "0.0040 ± 0.0010 | yes |")) << good;
  EXPECT_TRUE(has(row_of(repeats_report(tables, trials(0.006, 0)), mean), "| no |"));
  // 0.2 of the logarithms; 0.2 of the columns themselves is 0.1 of their logarithms.
  const std::string logs = "next rows, density of the logarithms: ";
  EXPECT_TRUE(has(row_of(good, logs + "pbcseq, logarithms"), "| no |")) << good;
  EXPECT_TRUE(has(row_of(good, logs + "pbcseq |"), "0.1000 ± 0.0000 | yes |")) << good;
  EXPECT_EQ(good.find(logs + "MathAchieve"), std::string::npos) << good;
  EXPECT_TRUE(has(row_of(good, "MathAchieve | correlation per-latent"), "2")) << good;
}

TEST(RepeatsReport, OfOneSplitHasNoErrorsAndNoClaims) {
  auto one = trials(0.01, 0);
  std::erase_if(one, [](const RepeatTrial& trial) { return trial.seed == 1; });
  const auto report = repeats_report(repeat_tables(), one);
  EXPECT_EQ(report.find("±"), std::string::npos) << report;
  EXPECT_EQ(report.find("reached"), std::string::npos) << report;
}

}  // namespace
}  // namespace kinflow
