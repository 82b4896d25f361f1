// Tables in other units than those that a model was trained on: of values, of context,
// and of time.
#include <fmt/format.h>

#include <functional>

#include "kinflow/core/random.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

class OtherUnits : public testing::Test {
 protected:
  static constexpr int kRows = 120;

  /// x around 5, y around 20, age around 50, each times a factor; 30 groups.
  std::string table(const std::string& name, std::uint64_t seed, double x = 1,
                    double y = 1, double age = 1) {
    Random random(seed);
    std::string text = "g,x,y,age\n";
    for (int i = 0; i < kRows; ++i) {
      const double shift = random.normal();
      text += fmt::format("{},{},{},{}\n", i % 30, x * (5 + random.normal()),
                          y * (20 + 3 * shift), age * (50 + 9 * random.normal()));
    }
    return folder_.write(name, text);
  }
  Arguments fit_of(const Arguments& more) {
    return Arguments{"fit",       train_, "--group", "g",
                     "--columns", "x,y",  "--out",   path("run")} +
           small_fit(more);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  /// What is said beside the results.
  static std::string told(const Arguments& arguments) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  }
  static void expect_told(const Arguments& arguments, const Arguments& parts) {
    const auto text = told(arguments);
    for (const auto& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
  }

  TemporaryFolder folder_;
  const std::string train_ = table("train.csv", 1);
};

TEST_F(OtherUnits, OfAValidationTableAreRefused) {
  const auto grams = table("grams.csv", 2, 1000);
  expect_refusal(
      folder_, fit_of({"--valid", grams}),
      {grams + ": expected validation rows in the units of the training rows",
       "120 of 120 values of 'x' lie more than 5 deviations"});
  const auto pounds = table("pounds.csv", 2, 1, 2.2);
  expect_refusal(folder_, fit_of({"--valid", pounds}), {pounds, "values of 'y'"});
  run_well(fit_of({"--valid", table("valid.csv", 2)}));
}

TEST_F(OtherUnits, AreWarnedOfWhereRowsAreScoredMappedOrGiven) {
  run_well(fit_of({"--context", "age"}));
  const auto run = path("run"), test = table("test.csv", 3);
  const auto grams = table("grams.csv", 3, 1000);
  const auto months = table("months.csv", 3, 1, 1, 12);
  const Arguments on_x = {"warning: " + grams +
                              ": 120 of 120 values of 'x' lie more "
                              "than 5 deviations",
                          "are they in other units?"};
  const Arguments on_age = {months, "values of 'age' lie"};
  const auto out = path("out.csv");
  EXPECT_EQ(told({"evaluate", run, test}), "");
  expect_told({"evaluate", run, grams}, on_x);
  expect_told({"evaluate", run, months}, on_age);
  expect_told({"evaluate", run, grams, "--group", "g"}, on_x);
  expect_told({"evaluate", run, test, "--given", grams}, on_x);
  expect_told({"transform", run, grams, "--out", out}, on_x);
  expect_told({"sample", run, "--for", months, "--out", path("drawn.csv")}, on_age);
  // A table in which a column does not vary, and one with a single row.
  expect_told({"evaluate", run, table("still.csv", 3, 0)}, {"values of 'x' have a "
                                                            "deviation of 0"});
  const auto one = folder_.write("one.csv", "g,x,y,age\n1,5,20,50\n");
  EXPECT_EQ(told({"evaluate", run, one}), "");
  // Latents are no data.
  EXPECT_EQ(told({"transform", run, out, "--inverse", "--out", path("back.csv")}), "");
}

class UnitsOfTime : public testing::Test {
 protected:
  /// A column of days, whatever `time` makes of them, from the first of March on.
  std::string table(const std::string& name,
                    const std::function<std::string(int)>& time) {
    Random random(4);
    std::string text = "day,a,b\n";
    for (int i = 0; i < 60; ++i) {
      text += fmt::format("{},{},{}\n", time(i), random.normal(), random.normal());
    }
    return folder_.write(name, text);
  }
  static int month(int day) { return day < 31 ? 3 : 4; }
  static int of_month(int day) { return 1 + day % 31; }
  Arguments fit_of(const std::string& train) const {
    return Arguments{
               "fit",         train,       "--time", "day",   "--time-kernel",
               "exponential", "--columns", "a,b",    "--out", folder_.path("run")} +
           small_fit(kOverwrite);
  }

  TemporaryFolder folder_;
  const std::string dates_ = table("dates.csv", [](int day) {
    return fmt::format("2024-{:02}-{:02}", month(day), of_month(day));
  });
  const std::string seconds_ =
      table("seconds.csv", [](int day) { return fmt::format("{}", 86400 * day); });
};

TEST_F(UnitsOfTime, DatesWithoutHyphensAreNoNumbers) {
  const auto compact = table("compact.csv", [](int day) {
    return fmt::format("2024{:02}{:02}", month(day), of_month(day));
  });
  expect_refusal(folder_, fit_of(compact),
                 {compact + ":2: column 'day': expected a date such as 2024-03-31",
                  "found 20240301, a date without hyphens"});
  // These count something.
  run_well(fit_of(
      table("numbers.csv", [](int day) { return std::to_string(20240301 + day); })));
}

TEST_F(UnitsOfTime, OneTimeIsNoSeries) {
  const auto still = table("still.csv", [](int) { return "2024-03-01"; });
  expect_refusal(folder_, fit_of(still),
                 {still + ": column 'day': expected times that differ"});
}

TEST_F(UnitsOfTime, ADecayPerDayIsNoDecayPerSecond) {
  const Arguments by_time = {"--time", "day"};
  const auto score = [&](const std::string& rows) {
    return Arguments{"evaluate", folder_.path("run"), rows} + by_time;
  };
  run_well(fit_of(dates_));
  run_well(score(dates_));
  expect_refusal(folder_, score(seconds_),
                 {"--time: expected dates, as the model's training rows have them, "
                  "found numbers"});
  expect_refusal(folder_,
                 Arguments{"sample", folder_.path("run"), "--for", seconds_, "--out",
                           folder_.path("drawn.csv")} +
                     by_time,
                 {"--time: expected dates"});
  run_well(score(seconds_) + Arguments{"--parameter", "0.5,1e-5"});
  run_well(fit_of(seconds_));
  expect_refusal(folder_, score(dates_), {"--time: expected numbers", "found dates"});
}

}  // namespace
}  // namespace kinflow::cli
