// Fits without a validation table: folds, what is held out, and runs that are compared.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/core/random.h"
#include "kinflow/data/table.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

/// Two columns and a label: groups of the given sizes have a part in common.
std::string write_groups(const TemporaryFolder& folder, const std::vector<int>& sizes) {
  Random random(5);
  std::string text = "x1,x2,who\n";
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const double shared = random.normal();
    for (int i = 0; i < sizes[group]; ++i) {
      const double a = 0.8 * shared + 0.6 * random.normal();
      text += fmt::format("{},{},p{}\n", a, std::abs(a) + random.normal(), group);
    }
  }
  return folder.write("visits.csv", text);
}

Arguments fit_of(const std::string& table, const std::string& out,
                 const Arguments& more = {"--group", "who"}) {
  return Arguments{"fit", table, "--out", out} +
         small_fit(more + Arguments{"--folds", "5"});
}

Json result_in(const std::string& run_folder) {
  return Json::parse(content_of(run_folder + "/run.json"))["result"];
}

TEST(FoldsOfAFit, GiveAMixtureAMapAndANumberToPublish) {
  const TemporaryFolder folder;
  const auto table = write_groups(folder, std::vector<int>(25, 4));
  const auto outcome = run(fit_of(table, folder.path("run")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("5 folds of 5 groups are held out in turn"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.out.find("cross-validated NLL "), std::string::npos) << outcome.out;
  const auto result = result_in(folder.path("run"));
  EXPECT_EQ(result["members"].size(), 5u);
  const auto& validated = result["cross_validation"];
  EXPECT_EQ(validated["units"], 25);
  EXPECT_GT(validated["standard_error"].get<double>(), 0);
  // held_out.csv holds what the number is made of.
  const auto scores =
      numeric_matrix(read_table(folder.path("run/held_out.csv")),
                     {"row", "fold", "unit", "weight", "log_density_nats"});
  ASSERT_EQ(scores.rows, 100);
  double sum = 0, total = 0;
  std::set<std::pair<double, double>> units_of_folds;
  for (std::int64_t i = 0; i < 100; ++i) {
    const auto* row = &scores.values[static_cast<std::size_t>(5 * i)];
    EXPECT_EQ(row[0], i + 1);
    EXPECT_EQ(row[2], i / 4 + 1);
    units_of_folds.insert({row[1], row[2]});
    total += row[3];
    sum += row[3] * row[4];
  }
  EXPECT_EQ(units_of_folds.size(), 25u);  // a group is in one fold
  EXPECT_NEAR(-sum / total, validated["nll_nats"].get<double>(), 1e-9);
  const auto text = run_well({"inspect", folder.path("run")});
  for (const auto* part :
       {"cross-validation", "have not seen", "a flow trained on all rows"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  run_well({"evaluate", folder.path("run"), table});
  const auto mapped =
      run({"transform", folder.path("run"), table, "--out", folder.path("u.csv")});
  EXPECT_NE(mapped.err.find("trained on all rows"), std::string::npos) << mapped.err;
}

TEST(FoldsOfAFit, OddGroupsAreFittedWithALineThatSaysHow) {
  struct Case {
    std::vector<int> sizes;
    std::string said;
  };
  std::vector<int> giant(13, 2);
  giant[0] = 216;
  const std::vector<Case> cases = {{std::vector<int>(4, 20), "4 folds of 1 group are"},
                                   {giant, "one of them has 90% of the rows"},
                                   {std::vector<int>(60, 1), "5 folds of 12 rows"},
                                   {{30, 30}, "all rows hang together in 2 parts"}};
  for (const auto& [sizes, said] : cases) {
    const TemporaryFolder folder;
    const auto outcome = run(fit_of(write_groups(folder, sizes), folder.path("run")));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_TRUE(
        result_in(folder.path("run"))["cross_validation"]["nll_nats"].is_number());
  }
}

TEST(FoldsOfAFit, OptionsThatDoNotGoTogetherAreRefused) {
  const TemporaryFolder folder;
  const auto table = write_groups(folder, std::vector<int>(25, 4));
  const auto out = folder.path("run");
  const auto refused = [&](const Arguments& more, const Arguments& mentioned) {
    expect_refusal(folder,
                   Arguments{"fit", table, "--group", "who", "--out", out} + more,
                   mentioned);
  };
  refused({"--ensemble", "2"}, {"--ensemble:", "--per-fold"});
  refused({"--valid-fraction", "0.2"}, {"--valid-fraction:", "--folds 1"});
  refused({"--folds", "1", "--per-fold", "2"}, {"--per-fold:", "--folds 1"});
  refused({"--columns", "x1,x2", "--fold-by", "x1"}, {"--fold-by", "x1"});
  refused({"--fold-by", "house"}, {"house"});
  refused({"--per-fold", "201", "--replicas", "201"}, {"--per-fold:"});
}

TEST(Compare, GivesPairedDifferencesByGroups) {
  const TemporaryFolder folder;
  // Rows of smaller groups are worth more.
  std::vector<int> sizes(25, 4);
  sizes[0] = 2;
  sizes[1] = 6;
  const auto table = write_groups(folder, sizes);
  const auto adjusted = folder.path("adjusted"), ordinary = folder.path("ordinary"),
             rows = folder.path("rows");
  run_well(fit_of(table, adjusted));
  run_well(fit_of(table, ordinary, {"--independent", "--fold-by", "who"}));
  run_well(fit_of(table, rows, {"--independent", "--columns", "x1,x2"}));
  const auto shown =
      Json::parse(run_well({"compare", ordinary, adjusted, rows, "--json"}));
  EXPECT_EQ(shown["rows"], 100);
  EXPECT_EQ(shown["units"], 25);
  EXPECT_EQ(shown["weights_of"], adjusted);
  ASSERT_EQ(shown["runs"].size(), 3u);
  EXPECT_EQ(shown["runs"][0]["difference_nats"], 0);
  // By hand, from the tables of the runs.
  const auto scores = [](const std::string& run_folder) {
    return numeric_matrix(read_table(run_folder + "/held_out.csv"),
                          {"weight", "log_density_nats"})
        .values;
  };
  const auto a = scores(adjusted), o = scores(ordinary);
  double total = 0, sum = 0, alike = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    total += a[2 * i];
    sum += a[2 * i] * (o[2 * i + 1] - a[2 * i + 1]);
    alike += (o[2 * i + 1] - a[2 * i + 1]) / 100;
  }
  EXPECT_NEAR(shown["runs"][1]["difference_nats"].get<double>(), sum / total, 1e-9);
  EXPECT_NEAR(shown["runs"][1]["difference_of_rows_nats"].get<double>(), alike, 1e-9);
  EXPECT_GT(shown["runs"][1]["difference_standard_error"].get<double>(), 0);
  EXPECT_EQ(shown["runs"][0]["has_seen_relatives"], false);
  EXPECT_EQ(shown["runs"][2]["has_seen_relatives"], true);
  const auto text = run_well({"compare", ordinary, adjusted});
  EXPECT_NE(text.find("100 rows in 25 units"), std::string::npos) << text;
}

TEST(Compare, RunsThatCannotBeComparedAreRefused) {
  const TemporaryFolder folder, other;
  const auto table = write_groups(folder, std::vector<int>(25, 4));
  const auto run_folder = folder.path("run");
  run_well(fit_of(table, run_folder));
  run_well(fit_of(write_groups(other, std::vector<int>(30, 4)), folder.path("table")));
  run_well(fit_of(table, folder.path("column"), {"--group", "who", "--columns", "x1"}));
  run_well(Arguments{"fit", table, "--group", "who", "--out", folder.path("once")} +
           small_fit());
  expect_refusal(folder, {"compare", run_folder, folder.path("table")}, {"same table"});
  expect_refusal(folder, {"compare", run_folder, folder.path("column")},
                 {"same modelled columns"});
  expect_refusal(folder, {"compare", run_folder, folder.path("once")},
                 {"held_out.csv", "--folds"});
  expect_refusal(folder, {"compare", run_folder}, {"runs"});
  expect_refusal(folder, {"compare", run_folder, folder.path("none")}, {"none"});
}

}  // namespace
}  // namespace kinflow::cli
