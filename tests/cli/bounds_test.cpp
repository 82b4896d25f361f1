// Columns with bounds by the real binary: draws stay inside, densities are near the
// truth, and what lies outside is refused.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "kinflow/core/random.h"
#include "kinflow/data/table.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// Rows of a lognormal and a Beta(2, 3) column in groups of three, with the mean of
/// their true negative log-density.
struct BoundedRows {
  std::string text = "g,income,share\n";
  double nll_nats = 0;
};

BoundedRows bounded_rows(int rows, std::uint64_t seed) {
  Random random(seed);
  BoundedRows made;
  const auto exponential = [&] { return -std::log1p(-random.uniform()); };
  for (int i = 0; i < rows; ++i) {
    const double z = random.normal(), income = std::exp(2 + z);
    const double two = exponential() + exponential(),
                 three = exponential() + exponential() + exponential();
    const double share = two / (two + three);
    made.nll_nats +=
        (0.5 * z * z + 0.5 * std::log(2 * std::numbers::pi) + std::log(income) -
         std::log(12 * share * (1 - share) * (1 - share))) /
        rows;
    made.text += fmt::format("{},{},{}\n", i / 3, income, share);
  }
  return made;
}

class BoundedColumns : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  Arguments fit_of(const std::string& table, const Arguments& more,
                   const std::string& epochs = "3") const {
    return Arguments{"fit", table, "--out", path("run")} + small_fit(more, epochs);
  }
  void expect_fit_refused(const Arguments& more, const Arguments& mentioned) const {
    expect_refusal(folder_, fit_of(train_, Arguments{"--independent"} + more),
                   mentioned);
  }
  /// All values of a table of income and share.
  void expect_inside(const std::string& table) const {
    const auto drawn = numeric_matrix(read_table(table), {"income", "share"});
    for (std::size_t i = 0; i < drawn.values.size(); i += 2) {
      ASSERT_GT(drawn.values[i], 0);
      ASSERT_GT(drawn.values[i + 1], 0);
      ASSERT_LT(drawn.values[i + 1], 1);
    }
  }
  nlohmann::json json_of(const Arguments& arguments) const {
    return nlohmann::json::parse(run_well(arguments));
  }

  TemporaryFolder folder_;
  const std::string train_ = folder_.write("t.csv", bounded_rows(1500, 1).text);
  const Arguments columns_ = {"--columns", "income,share"};
  const Arguments bounds_ =
      columns_ + Arguments{"--positive", "income", "--bounds", "share=0:1"};
};

TEST_F(BoundedColumns, HaveDrawsInsideAndADensityNearTheTruth) {
  const auto test = bounded_rows(3000, 2);
  const auto scored = folder_.write("test.csv", test.text);
  run_well(fit_of(train_, Arguments{"--independent"} + bounds_, "40"));
  const double nll =
      json_of({"evaluate", path("run"), scored, "--json"})["mean_nll_nats"];
  EXPECT_LT(nll, test.nll_nats + 0.03);
  EXPECT_GT(nll, test.nll_nats - 0.03);
  for (const auto* out : {"draws.csv", "draws.npy"}) {
    run_well({"sample", path("run"), "--rows", "30000", "--out", path(out)});
  }
  expect_inside(path("draws.csv"));
  // Latents that no row has.
  std::string far = "u1,u2\n";
  for (int u = -60; u <= 60; u += 3) far += fmt::format("{},{}\n", u, -u);
  run_well({"transform", path("run"), folder_.write("far.csv", far), "--inverse",
            "--minus-nine", "value", "--out", path("back.csv")});
  expect_inside(path("back.csv"));
}

TEST_F(BoundedColumns, GoBackAndForthAndAreShown) {
  run_well(fit_of(train_, Arguments{"--independent"} + bounds_));
  run_well({"transform", path("run"), train_, "--out", path("u.csv")});
  run_well(
      {"transform", path("run"), path("u.csv"), "--inverse", "--out", path("x.csv")});
  const auto rows = numeric_matrix(read_table(train_), {"income", "share"}).values,
             back =
                 numeric_matrix(read_table(path("x.csv")), {"income", "share"}).values;
  ASSERT_EQ(rows.size(), back.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_NEAR(back[i], rows[i], 1e-9 * (1 + std::abs(rows[i])));
  }
  EXPECT_NE(
      run_well({"inspect", path("run")}).find("income above 0, share between 0 and 1"),
      std::string::npos);
  const auto shown = json_of({"inspect", path("run"), "--json"})["bounds"];
  EXPECT_EQ(shown, (nlohmann::json{{"income", {{"low", 0.0}, {"high", nullptr}}},
                                   {"share", {{"low", 0.0}, {"high", 1.0}}}}));
  const auto record = nlohmann::json::parse(content_of(path("run/run.json")));
  EXPECT_EQ(record["request"]["data"]["bounds"],
            (nlohmann::json{"share=0:1", "income=0:"}));
  run_well({"report", path("run"), "--out", path("page.html")});
  EXPECT_NE(content_of(path("page.html")).find("within the bounds share=0:1"),
            std::string::npos);
}

TEST_F(BoundedColumns, OfAMixtureAndGivenObservedRowsStayInside) {
  run_well(
      {"fit",        train_,   "--group",    "g",         "--columns", "income,share",
       "--positive", "income", "--bounds",   "share=0:1", "--out",     path("run"),
       "--epochs",   "2",      "--replicas", "4",         "--folds",   "2",
       "--threads",  "1"});
  run_well({"sample", path("run"), "--rows", "4000", "--out", path("free.csv")});
  expect_inside(path("free.csv"));
  const auto seen = folder_.write("seen.csv", bounded_rows(60, 3).text);
  run_well({"sample", path("run"), "--given", seen, "--rows", "20", "--out",
            path("given.csv")});
  expect_inside(path("given.csv"));
  const auto other = folder_.write("other.csv", bounded_rows(60, 4).text);
  const auto scores =
      json_of({"evaluate", path("run"), other, "--given", seen, "--json"});
  EXPECT_TRUE(scores["mean_nll_given_nats"].is_number());

  const auto outside =
      folder_.write("outside.csv", "g,income,share\n0,-2,0.5\n1,3,0.5\n");
  const Arguments said = {outside + ":2: column 'income': expected a number above 0",
                          "found -2", "density 0"};
  expect_refusal(folder_,
                 {"sample", path("run"), "--given", outside, "--rows", "2", "--out",
                  path("no.csv")},
                 said);
  expect_refusal(folder_, {"evaluate", path("run"), other, "--given", outside}, said);
}

TEST_F(BoundedColumns, ResumedAndSweptFitsKeepTheirBounds) {
  const auto spec = folder_.write(
      "spec.json", nlohmann::json{{"fixed",
                                   {{"table", train_},
                                    {"independent", true},
                                    {"columns", {"income", "share"}},
                                    {"bounds", {"income=0:", "share=0:1"}},
                                    {"hidden", 8},
                                    {"bins", 4},
                                    {"folds", 1},
                                    {"epochs", 2}}},
                                  {"grid", {{"learning-rate", {0.01, 0.03}}}}}
                       .dump());
  run_well({"sweep", spec, "--threads", "1", "--out", path("sweep")});
  run_well({"sample", path("sweep/best"), "--rows", "3000", "--out", path("s.csv")});
  expect_inside(path("s.csv"));

  const auto fit = fit_of(train_, Arguments{"--independent"} + bounds_);
  run_well(fit);
  const auto model = content_of(path("run/model.safetensors"));
  auto record = nlohmann::json::parse(content_of(path("run/run.json")));
  record["status"] = "running";
  folder_.write("run/run.json", record.dump());
  std::filesystem::remove(path("run/model.safetensors"));
  run_well({"fit", "--resume", path("run")});
  EXPECT_TRUE(content_of(path("run/model.safetensors")) == model);
}

TEST_F(BoundedColumns, ValuesOnTheBoundsAndBeyondAreRefused) {
  const auto with = [&](const std::string& name, const std::string& row) {
    return folder_.write(name, bounded_rows(99, 5).text + row + "\n");
  };
  const Arguments refit = {"--independent", "--columns", "income,share", "--bounds",
                           "income=0:,share=0:1"};
  for (
      const auto& [row, said] :
      std::initializer_list<std::pair<std::string, Arguments>>{
          {"9,0,0.5", {":101: column 'income': expected a number above 0, found 0;"}},
          {"9,-3,0.5", {":101: column 'income': expected a number above 0, found -3;"}},
          {"9,5,1",
           {":101: column 'share': expected a number between 0 and 1, found 1;"}},
          {"9,5,1.25",
           {":101: column 'share': expected a number between 0 and 1, found 1.25;"}}}) {
    expect_refusal(folder_, fit_of(with("bad.csv", row), refit), said);
    expect_refusal(folder_,
                   fit_of(train_, refit + Arguments{"--valid", path("bad.csv")}),
                   {path("bad.csv") + said[0]});
  }
  run_well(fit_of(train_, refit));
  const auto bad = with("bad.csv", "9,5,1");
  const Arguments said = {bad + ":101: column 'share'", "found 1;", "has density 0"};
  expect_refusal(folder_, {"evaluate", path("run"), bad}, said);
  expect_refusal(folder_, {"evaluate", path("run"), bad, "--out", path("e.csv")}, said);
  expect_refusal(folder_, {"transform", path("run"), bad, "--out", path("u.csv")},
                 said);
}

TEST_F(BoundedColumns, OptionsThatMakeNoSenseAreRefused) {
  const Arguments context = {"--columns", "income", "--context", "share"};
  for (const auto& [more, said] :
       std::initializer_list<std::pair<Arguments, Arguments>>{
           {{"--bounds", "incom=0:"}, {"no column 'incom'", "did you mean 'income'"}},
           {{"--positive", "incom"}, {"no column 'incom'", "did you mean 'income'"}},
           {{"--bounds", "income=3:2"}, {"--bounds: column 'income'", "'3:2'"}},
           {{"--bounds", "income=a:"}, {"--bounds: column 'income'", "'a'"}},
           {{"--bounds", "income=:"}, {"--bounds: column 'income'", "neither"}},
           {{"--bounds", "income"}, {"--bounds: expected COLUMN=LOW:HIGH", "'income'"}},
           {{"--bounds", "income=0:,income=:9e9"},
            {"every column once", "'income' twice"}},
           {{"--bounds", "income=0:", "--positive", "income"}, {"'income' twice"}},
           {{"--columns", "income", "--positive", "share"},
            {"columns that are modelled", "'share'"}},
           {context + Arguments{"--bounds", "share=0:1"},
            {"columns that are modelled", "'share'"}}}) {
    expect_fit_refused(more, said);
  }
  expect_refusal(
      folder_,
      fit_of(train_, {"--group", "g", "--columns", "income,share", "--positive", "g"}),
      {"columns that are modelled", "'g'"});
}

TEST_F(BoundedColumns, NamesWithCommasAreFoundInTheTable) {
  Random random(8);
  std::string text = "\"Weight, kg\",b=c\n";
  for (int i = 0; i < 120; ++i) {
    text += fmt::format("{},{}\n", 70 + 9 * random.normal(), std::exp(random.normal()));
  }
  const auto table = folder_.write("names.csv", text);
  run_well(fit_of(table, {"--independent", "--bounds", "Weight, kg=0:500,b=c=0:"}));
  const auto shown = json_of({"inspect", path("run"), "--json"})["bounds"];
  EXPECT_EQ(shown["Weight, kg"]["high"], 500.0);
  EXPECT_EQ(shown["b=c"]["low"], 0.0);
}

TEST_F(BoundedColumns, ColumnsThatAreAlwaysPositiveAreNamedInOneLine) {
  const std::string one =
      "note: column 'income' is positive in all 1500 rows; --positive income keeps "
      "draws above 0\n";
  const auto told = [&](const Arguments& more) {
    const auto outcome =
        run(fit_of(train_, Arguments{"--independent"} + more + kOverwrite, "1"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_NE(told({"--columns", "income"}).find(one), std::string::npos);
  EXPECT_NE(told(columns_).find("note: columns 'income', 'share' are positive in all "
                                "1500 rows; --positive income,share keeps"),
            std::string::npos);
  EXPECT_NE(told(columns_ + Arguments{"--bounds", "share=:1"}).find(one),
            std::string::npos);
  EXPECT_EQ(told(bounds_).find("note:"), std::string::npos);
  // Far from 0, and on both sides of it.
  Random random(9);
  std::string text = "height,x\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("{},{}\n", 170 + 9 * random.normal(), random.normal());
  }
  const auto outcome = run(
      fit_of(folder_.write("far.csv", text), {"--independent", "--overwrite"}, "1"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("note:"), std::string::npos) << outcome.err;
}

// On the line, where they are compared, they have other names.
TEST_F(BoundedColumns, OfOtherUnitsAreWarnedOf) {
  run_well(fit_of(train_, Arguments{"--independent"} + bounds_));
  Random random(3);
  std::string text = "income,share\n";
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("{},{}\n", 1e6 * std::exp(random.normal()), 0.5);
  }
  const auto other = folder_.write("cents.csv", text);
  const auto outcome = run({"evaluate", path("run"), other});
  EXPECT_NE(outcome.err.find("60 of 60 values of 'log(income)' lie more than 5"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace kinflow::cli
