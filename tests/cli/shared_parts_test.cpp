// What fits record and `inspect` shows of what rows have in common, by the real binary.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/core/random.h"
#include "run_binary.h"
#include "tests/data/helpers.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

// Groups of six rows, normal, with correlations 0.9 and 0.1.
std::string table_of_groups(std::uint64_t seed, int groups) {
  Random random(seed);
  std::string text = "stable,loose,person\n";
  for (int group = 0; group < groups; ++group) {
    const double stable = std::sqrt(0.9) * random.normal(),
                 loose = std::sqrt(0.1) * random.normal();
    for (int row = 0; row < 6; ++row) {
      text += fmt::format("{},{},p{}\n", stable + std::sqrt(0.1) * random.normal(),
                          5 + 2 * (loose + std::sqrt(0.9) * random.normal()), group);
    }
  }
  return text;
}

TEST(SharedPartsOfFits, HoldTheTruthAndAreShown) {
  const TemporaryFolder folder;
  const auto table = folder.write("visits.csv", table_of_groups(3, 200));
  const auto run = folder.path("run");
  run_well(Arguments{"fit", table, "--group", "person", "--correlation", "per-latent",
                     "--out", run} +
           small_fit({"--flow", "affine", "--per-fold", "1", "--folds", "3"}, "20"));
  const auto record = Json::parse(content_of(run + "/run.json"));
  const auto& way = record["result"]["shared_parts"][0];
  const double truth[] = {0.9, 0.1};
  for (std::size_t j = 0; j < 2; ++j) {
    const auto& column = way["columns"][j];
    EXPECT_LT(column["low"].get<double>(), truth[j]);
    EXPECT_GT(column["high"].get<double>(), truth[j]);
    EXPECT_LT(column["high"].get<double>() - column["low"].get<double>(), 0.2);
    EXPECT_LE(column["monte_carlo_error"].get<double>(), 0.005);
  }
  EXPECT_LT(way["correlations"][0]["low"].get<double>(), 0);
  EXPECT_GT(way["correlations"][0]["high"].get<double>(), 0);

  const auto text = run_well({"inspect", run});
  EXPECT_NE(text.find("share common to a group (ICC)"), std::string::npos) << text;
  EXPECT_NE(text.find("correlation between groups"), std::string::npos);
  EXPECT_EQ(Json::parse(run_well({"inspect", run, "--json"}))["record"]["shared_parts"],
            record["result"]["shared_parts"]);
  EXPECT_NE(content_of(run + "/report.html").find("What rows have in common"),
            std::string::npos);
}

TEST(SharedPartsOfFits, AreHeritabilitiesOfARelationship) {
  const auto record =
      Json::parse(content_of(SharedFiles::get().relatives_run + "/run.json"));
  const auto& way = record["result"]["shared_parts"][0];
  EXPECT_EQ(way["share"], "heritability");
  EXPECT_EQ(way["correlation"], "genetic correlation");
}

TEST(SharedPartsOfFits, AreNotThereForIndependentRowsOrWithoutInference) {
  const TemporaryFolder folder;
  const auto table = folder.write("visits.csv", table_of_groups(4, 30));
  const Arguments rows[] = {
      {"--independent", "--columns", "stable,loose"},
      {"--group", "person", "--correlation", "shared", "--no-inference"}};
  for (const auto& choice : rows) {
    const auto run = folder.path("run" + choice.front());
    run_well(Arguments{"fit", table, "--out", run} +
             small_fit(Arguments{"--flow", "affine"} + choice));
    EXPECT_FALSE(
        Json::parse(content_of(run + "/run.json"))["result"].contains("shared_parts"));
    EXPECT_EQ(run_well({"inspect", run}).find("ICC"), std::string::npos);
  }
}

}  // namespace
}  // namespace kinflow::cli
