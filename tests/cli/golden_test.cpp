// Models that an earlier version wrote, and what it made of them: tests/golden.
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kinflow/core/input_file.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

std::string golden(const std::string& name) {
  return std::string(KINFLOW_GOLDEN) + "/" + name;
}

/// Cells of a table, line by line, which are all numbers below the header.
void expect_same_numbers(const std::string& found, const std::string& expected,
                         double tolerance) {
  std::istringstream left(read_whole_file(found)), right(read_whole_file(expected));
  std::string line, other;
  std::getline(left, line);
  std::getline(right, other);
  EXPECT_EQ(line, other);
  std::int64_t numbers = 0;
  while (std::getline(right, other)) {
    ASSERT_TRUE(std::getline(left, line)) << found << " is too short";
    std::istringstream cells(line), others(other);
    std::string cell, wanted;
    while (std::getline(others, wanted, ',')) {
      ASSERT_TRUE(std::getline(cells, cell, ','));
      const double number = std::stod(wanted);
      ASSERT_NEAR(std::stod(cell), number, tolerance * std::max(1.0, std::abs(number)))
          << expected << ", line " << numbers;
      ++numbers;
    }
  }
  EXPECT_FALSE(std::getline(left, line)) << found << " is too long";
  EXPECT_GT(numbers, 10);
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, ScoresLatentsAndDrawsAreThoseOfTheEarlierVersion) {
  const TemporaryFolder folder;
  const std::string name = GetParam();
  const auto model = golden(name + ".safetensors"), rows = golden("rows.csv");
  const auto out = [&](const char* what) { return folder.path(name + what); };
  run_well({"evaluate", model, rows, "--out", out(".scores.csv")});
  run_well({"transform", model, rows, "--out", out(".latents.csv")});
  auto draws = Arguments{"sample", model, "--seed", "4", "--out", out(".draws.csv")};
  run_well(draws +
           (name == "context" ? Arguments{"--for", rows} : Arguments{"--n", "12"}));
  for (const char* what : {".scores.csv", ".latents.csv", ".draws.csv"}) {
    expect_same_numbers(out(what), golden(name + what), 1e-9);
  }
}
INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("blocks", "latents", "context", "time",
                                         "related"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Golden, ScoresOfGivenRowsAreThoseOfTheEarlierVersion) {
  const TemporaryFolder folder;
  const auto out = folder.path("given.csv");
  run_well({"evaluate", golden("blocks.safetensors"), golden("others.csv"), "--given",
            golden("given.csv"), "--group", "group", "--out", out});
  expect_same_numbers(out, golden("blocks.given.csv"), 1e-9);
}

TEST(Golden, ImagesAreThoseOfTheEarlierVersion) {
  const TemporaryFolder folder;
  const auto model = golden("faces.safetensors"), faces = golden("faces.draws.npy");
  run_well(
      {"sample", model, "--n", "24", "--seed", "4", "--out", folder.path("f.npy")});
  EXPECT_TRUE(read_whole_file(folder.path("f.npy")) == read_whole_file(faces));
  const auto scores = nlohmann::json::parse(run_well(
      {"evaluate", model, faces, "--ids", golden("faces.people.csv"), "--samples", "20",
       "--json", "--threads", "1", "--out", folder.path("scores.csv")}));
  // Image flows compute in float32.
  expect_same_numbers(folder.path("scores.csv"), golden("faces.scores.csv"), 1e-7);
  const auto expected = nlohmann::json::parse(read_whole_file(golden("faces.json")));
  for (const auto& [key, value] : expected.items()) {
    if (!value.is_number()) continue;
    // Filters of the features are of float32.
    EXPECT_NEAR(scores.at(key).get<double>(), value.get<double>(),
                1e-5 * std::abs(value.get<double>()))
        << key;
  }
}

}  // namespace
}  // namespace kinflow::cli
