// Labels of groups and people that are written in several ways, rows that find nothing
// they depend on, and rows that are given twice.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kinflow/core/random.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

/// Groups of four rows with a strong common part, three of them to fit and one to
/// score; people with ids from 1 on and the relationship of siblings.
class NumberedGroups : public testing::Test {
 protected:
  static constexpr int kGroups = 40;

  /// @param suffix  of every label, ".0" as pandas writes numbers where some are
  /// missing
  static std::string table(int first, int end, const std::string& suffix,
                           int first_group = 1) {
    std::string text = "group,id,x,y\n";
    Random random(3);
    for (int g = 1; g <= kGroups; ++g) {
      const double common = 1.5 * random.normal();
      for (int row = 0; row < 4; ++row) {
        const double x = common + random.normal(), y = common - 0.3 * random.normal();
        if (row < first || row >= end) continue;
        text += fmt::format("{}{},{}{},{},{}\n", g + first_group - 1, suffix,
                            4 * g + row, suffix, x, y);
      }
    }
    return text;
  }

  NumberedGroups() {
    observed = folder.write("observed.csv", table(0, 3, ""));
    observed_as_floats = folder.write("observed_floats.csv", table(0, 3, ".0"));
    scored = folder.write("scored.csv", table(3, 4, ""));
    std::string matrix, ids;
    for (int i = 4; i < 4 * (kGroups + 1); ++i) {
      ids += fmt::format("{}\n", i);
      for (int j = 4; j < 4 * (kGroups + 1); ++j) {
        matrix += i == j ? "1 " : (i / 4 == j / 4 ? "0.5 " : "0 ");
      }
      matrix += "\n";
    }
    relationship = folder.write("siblings.txt", matrix);
    folder.write("siblings.txt.id", ids);
  }

  std::string path(const std::string& name) const { return folder.path(name); }
  Arguments by_id() const { return {"--relationship", relationship, "--id", "id"}; }

  std::string fitted(const std::string& name, const Arguments& dependence) const {
    run_well(Arguments{"fit", observed, "--columns", "x,y", "--out", path(name)} +
             dependence + small_fit());
    return path(name);
  }
  static Json score(const std::string& run, const std::string& table,
                    const Arguments& more) {
    return Json::parse(run_well(Arguments{"evaluate", run, table, "--json"} + more));
  }

  TemporaryFolder folder;
  std::string observed, observed_as_floats, scored, relationship;
};

TEST_F(NumberedGroups, EqualNumbersAreTheSameLabelInGiven) {
  const auto run = fitted("run", {"--group", "group"});
  const auto plain = score(run, scored, {"--given", observed});
  const auto floats = score(run, scored, {"--given", observed_as_floats});
  EXPECT_EQ(plain, floats);
  EXPECT_EQ(plain["rows_unmatched"], 0);
  EXPECT_EQ(plain["given_rows_unmatched"], 0);
  EXPECT_LT(plain["mean_nll_given_nats"],
            score(run, scored, {"--group", "group"})["mean_nll_nats"]);
  for (const auto& known : {observed, observed_as_floats}) {
    run_well({"sample", run, "--for", scored, "--given", known, "--out",
              path(known == observed ? "a.csv" : "b.csv")});
  }
  EXPECT_EQ(content_of(path("a.csv")), content_of(path("b.csv")));
}

TEST_F(NumberedGroups, LearnedCorrelationsAreFoundByEqualNumbers) {
  const auto run = fitted("run", {"--group", "group"});
  const auto plain = score(run, observed, {"--group", "group"});
  EXPECT_EQ(plain, score(run, observed_as_floats, {"--group", "group"}));
  // A part of the groups was held out.
  EXPECT_GT(plain["rows_of_training_groups"], kGroups);
  EXPECT_LT(plain["rows_of_training_groups"], 3 * kGroups);
  const auto others = folder.write("others.csv", table(0, 3, "", 1001));
  EXPECT_EQ(score(run, others, {"--group", "group"})["rows_of_training_groups"], 0);
}

TEST_F(NumberedGroups, IdsMatchByEqualNumbers) {
  const auto run = fitted("run", by_id());
  EXPECT_EQ(score(run, scored, Arguments{"--given", observed} + by_id()),
            score(run, scored, Arguments{"--given", observed_as_floats} + by_id()));
}

TEST_F(NumberedGroups, RowsThatMatchNothingAreCounted) {
  const auto run = fitted("run", {"--group", "group"});
  // Of 40 groups the first 10 are not among those that are scored.
  const auto shifted = folder.write("shifted.csv", table(3, 4, "", 11));
  const auto found = score(run, shifted, {"--given", observed});
  EXPECT_EQ(found["rows_unmatched"], 10);
  EXPECT_EQ(found["given_rows_unmatched"], 30);
  EXPECT_NE(
      run_well({"evaluate", run, shifted, "--given", observed}).find("rows_unmatched"),
      std::string::npos);
  const auto drawn = cli::run({"sample", run, "--for", shifted, "--given", observed,
                               "--out", path("drawn.csv")});
  EXPECT_EQ(drawn.exit_code, 0);
  EXPECT_NE(drawn.err.find("10 of 40 rows to draw"), std::string::npos) << drawn.err;
  EXPECT_NE(drawn.err.find("30 of 120 rows"), std::string::npos) << drawn.err;
}

TEST_F(NumberedGroups, NoMatchIsRefused) {
  const auto run = fitted("run", {"--group", "group"});
  const auto others = folder.write("others.csv", table(3, 4, "", 1001));
  expect_refusal(folder, {"evaluate", run, others, "--given", observed},
                 {observed, others, "'1'", "'1001'"});
  expect_refusal(
      folder,
      {"sample", run, "--for", others, "--given", observed, "--out", path("drawn.csv")},
      {observed, others});
  const auto relatives = fitted("relatives", by_id());
  const auto strangers =
      folder.write("strangers.csv", "group,id,x,y\n1,4,0.1,0.2\n1,5,0.3,0.1\n");
  const auto few = folder.write("few.csv", "group,id,x,y\n2,8,0.5,0.2\n2,9,0.3,0.7\n");
  expect_refusal(folder,
                 Arguments{"evaluate", relatives, strangers, "--given", few} + by_id(),
                 {few, "related"});
}

TEST_F(NumberedGroups, ScoredRowsAreNotGivenThemselves) {
  const auto run = fitted("run", {"--group", "group"});
  expect_refusal(folder, {"evaluate", run, scored, "--given", scored},
                 {"--given", "40 rows", scored});
  const auto other_file = folder.write("copy.csv", table(3, 4, ".0"));
  expect_refusal(folder, {"evaluate", run, scored, "--given", other_file},
                 {"--given", "40 rows", other_file});
  const auto all = folder.write("all.csv", table(0, 4, ""));
  expect_refusal(folder, {"evaluate", run, scored, "--given", all},
                 {"--given", "all 40 rows", all});
  // The header and half of the rows.
  const auto text = content_of(scored);
  std::size_t end = 0;
  for (int line = 0; line < 21; ++line) end = text.find('\n', end) + 1;
  const auto half = folder.write("half.csv", text.substr(0, end));
  const auto outcome = cli::run({"evaluate", run, scored, "--given", half});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("20 of 40 rows"), std::string::npos) << outcome.err;
}

TEST_F(NumberedGroups, TrainingRowsDoNotValidate) {
  const auto fit = [&](const std::string& valid) {
    return Arguments{"fit",   observed,  "--columns", "x,y",   "--group",
                     "group", "--valid", valid,       "--out", path("run")} +
           small_fit();
  };
  expect_refusal(folder, fit(observed), {"--valid", "120 rows", observed});
  // The same rows in another order and another file.
  std::string reversed = "y,x\n";
  const auto lines = table(0, 3, "");
  for (std::size_t end = lines.size() - 1; end > 20;) {
    const auto start = lines.rfind('\n', end - 1) + 1;
    const auto line = lines.substr(start, end - start);
    if (line.starts_with("group")) break;
    const auto y = line.rfind(','), x = line.rfind(',', y - 1);
    reversed += line.substr(y + 1) + "," + line.substr(x + 1, y - x - 1) + "\n";
    end = start - 1;
  }
  const auto other = folder.write("reversed.csv", reversed);
  expect_refusal(folder, fit(other), {"--valid", "120 rows", other});
  const auto mixed = folder.write("mixed.csv", table(2, 4, ""));
  const auto outcome = cli::run(fit(mixed));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("40 of 80 validation rows"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace kinflow::cli
