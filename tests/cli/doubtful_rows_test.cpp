// Rows that may be mistakes, in tables beside the training table and in its columns
// that are not modelled: each is refused or said in a line.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "kinflow/core/random.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

class DoubtfulRows : public testing::Test {
 protected:
  static constexpr int kRows = 120;

  struct Row {
    int number = 0;
    std::string group, x, y, c;
  };

  /// Groups of 4; y around 5 and c beside it.
  /// @param change  of some of the rows
  std::string table(const std::string& name, std::uint64_t seed,
                    const std::function<void(Row&)>& change = {}) const {
    Random random(seed);
    std::string text = "g,x,y,c\n";
    for (int i = 0; i < kRows; ++i) {
      const double shared = random.normal();
      Row row{.number = i,
              .group = fmt::format("{}{}", name, i / 4),
              .x = fmt::format("{:.4f}", shared + random.normal()),
              .y = fmt::format("{:.4f}", 5 + shared + random.normal()),
              .c = fmt::format("{:.4f}", random.normal())};
      if (change) change(row);
      text += fmt::format("{},{},{},{}\n", row.group, row.x, row.y, row.c);
    }
    return folder_.write(name, text);
  }
  Arguments fit_of(const std::string& train, const Arguments& more = {}) const {
    return Arguments{"fit", train,         "--group", "g",        "--columns",
                     "x,y", "--overwrite", "--out",   path("run")} +
           small_fit(more);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  static std::string said(const Arguments& arguments) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  }
  static void expect_said(const Arguments& arguments, const Arguments& parts) {
    const auto text = said(arguments);
    for (const auto& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
  }
  static void expect_not_said(const Arguments& arguments, const std::string& part) {
    const auto text = said(arguments);
    EXPECT_EQ(text.find(part), std::string::npos) << text;
  }

  TemporaryFolder folder_;
  const std::string train_ = table("train.csv", 1);
  const std::function<void(Row&)> code_in_y_ = [](Row& row) {
    if (row.number == 15) row.y = "9999";
  };
};

TEST_F(DoubtfulRows, ACodeInAValidationTableIsSaid) {
  const auto valid = table("valid.csv", 2, code_in_y_);
  expect_said(fit_of(train_, {"--valid", valid}),
              {"warning: " + valid + ":17: column 'y': 9999 lies far"});
  expect_not_said(fit_of(train_, {"--valid", table("clean.csv", 2)}), "lies far");
}

TEST_F(DoubtfulRows, ACodeInScoredOrGivenRowsIsSaid) {
  run_well(fit_of(train_));
  const auto run = path("run");
  const auto coded = table("coded.csv", 3, code_in_y_), test = table("test.csv", 3);
  const Arguments parts = {"warning: " + coded +
                               ": 1 of 120 values of 'y' lies more "
                               "than 50 deviations",
                           "such as 9999", "code for a missing value"};
  expect_said({"evaluate", run, coded}, parts);
  expect_said({"evaluate", run, coded, "--group", "g"}, parts);
  expect_said({"transform", run, coded, "--out", path("latents.csv")}, parts);
  const auto same = table("same.csv", 4, [](Row& row) {
    row.group = fmt::format("coded.csv{}", row.number / 4);
  });
  expect_said({"evaluate", run, same, "--given", coded}, parts);
  expect_said({"sample", run, "--rows", "1", "--given", coded, "--out", path("d.csv")},
              parts);
  EXPECT_EQ(said({"evaluate", run, test}), "");
}

TEST_F(DoubtfulRows, ACodeInTheContextOrTheTimesIsSaid) {
  const auto coded = table("coded.csv", 1, [](Row& row) {
    if (row.number == 15) row.c = "-999";
  });
  expect_said(fit_of(coded, {"--context", "c"}),
              {"warning: " + coded + ":17: column 'c': -999 lies far"});
  // Categories have no distances.
  const auto two = table(
      "two.csv", 1, [](Row& row) { row.c = row.number % 40 == 0 ? "rare" : "usual"; });
  expect_not_said(fit_of(two, {"--context", "c"}), "lies far");

  const auto dated = table("dated.csv", 1, [](Row& row) {
    row.c = row.number == 15 ? "9999-12-31"
                             : fmt::format("2024-{:02}-{:02}", 1 + row.number % 12,
                                           1 + row.number % 28);
  });
  expect_said(Arguments{"fit", dated, "--columns", "x,y", "--time", "c",
                        "--time-kernel", "exponential", "--out", path("timed")} +
                  small_fit(),
              {"warning: " + dated +
               ":17: column 'c': 9999-12-31 lies far from all "
               "other dates"});
}

TEST_F(DoubtfulRows, AColumnThatFollowsFromTheContextIsRefused) {
  using Function = std::function<double(double, double)>;
  const auto with_context = [this](const Function& function) {
    return table("made.csv", 1, [&](Row& row) {
      row.c = fmt::format("{:.9g}", function(std::stod(row.x), std::stod(row.y)));
    });
  };
  const std::vector<std::pair<std::string, Function>> functions = {
      {"linear function of 'c' (--context)",
       [](double x, double) { return 2.54 * x + 1; }},
      {"linear combination of 'c' (--context), 'x'",
       [](double x, double y) { return x + y; }}};
  for (const auto& [part, function] : functions) {
    const auto made = with_context(function);
    expect_refusal(folder_, fit_of(made, {"--context", "c"}), {made, part});
  }
  // What grows with time may have a density given it.
  const auto made = with_context([](double, double y) { return std::exp(y); });
  expect_said(fit_of(made, {"--context", "c"}),
              {"warning: " + made + ": 'y' is a monotone function of 'c' (--context)"});
  run_well(fit_of(train_, {"--context", "c"}));
}

TEST_F(DoubtfulRows, RowsThatRepeatEarlierOnesAreSaid) {
  std::optional<Row> last;
  const auto twice = table("twice.csv", 1, [&](Row& row) {
    if (row.number % 10 == 1) {
      row.x = last->x;
      row.y = last->y;
    }
    last = row;
  });
  expect_said(fit_of(twice), {"warning: " + twice +
                              ":3: this row repeats line 2 in all modelled "
                              "columns, as 12 of 120 rows repeat"});
  // Rows of rounded columns repeat by chance.
  const auto rounded = table("rounded.csv", 1, [](Row& row) {
    for (auto* cell : {&row.x, &row.y}) {
      *cell = fmt::format("{}", std::round(6 * std::stod(*cell)) / 6);
    }
  });
  expect_not_said(fit_of(rounded), "repeats line");
}

TEST_F(DoubtfulRows, AGroupOfUnknownLabelIsSaid) {
  for (const auto& [label, every] : {std::pair("unknown", 5), std::pair("lab", 2)}) {
    const auto unknown = table("unknown.csv", 1, [&](Row& row) {
      if (row.number % every == 0) row.group = label;
    });
    expect_said(fit_of(unknown),
                {fmt::format("group '{}' of column 'g' has {} of the 120 rows", label,
                             kRows / every)});
  }
}

TEST_F(DoubtfulRows, ValidationRowsOfTrainingGroupsAreSaid) {
  const auto valid = table("valid.csv", 2, [](Row& row) {
    if (row.number < 40) row.group = fmt::format("train.csv{}", row.number / 4);
  });
  expect_said(fit_of(train_, {"--valid", valid}),
              {valid + ": 40 of 120 validation rows belong to groups of the training "
                       "table"});
}

TEST_F(DoubtfulRows, MonthsAndDatesAsNumbersAreRefused) {
  const auto month = [](const Row& row) { return row.number * 7 % 12 + 1; };
  const auto months = table("months.csv", 1, [&](Row& row) {
    row.c = fmt::format("{}{:02}", 2001 + row.number % 19, month(row));
  });
  expect_refusal(folder_,
                 Arguments{"fit", months, "--columns", "x,y", "--time", "c",
                           "--time-kernel", "exponential", "--out", path("run")} +
                     small_fit(),
                 {"expected a date such as 2024-03-31", "a month without hyphens"});
  const auto days = table("days.csv", 1, [&](Row& row) {
    row.c = fmt::format("{}{:02}{:02}", 2001 + row.number % 19, month(row),
                        row.number % 28 + 1);
  });
  for (const auto& [dates, look] :
       {std::pair(months, "months"), std::pair(days, "dates")}) {
    expect_refusal(
        folder_,
        Arguments{"fit", dates, "--group", "g", "--out", path("run")} + small_fit(),
        {fmt::format("labels of rows: 'c' ({})", look)});
  }
}

TEST_F(DoubtfulRows, AModelledColumnIsNoGroup) {
  run_well(fit_of(train_));
  const auto run = path("run");
  expect_refusal(folder_, {"evaluate", run, train_, "--group", "x"},
                 {"--group: expected a column that is not modelled", "'x'"});
  expect_refusal(folder_,
                 {"sample", run, "--rows", "2", "--given", train_, "--group", "x",
                  "--out", path("drawn.csv")},
                 {"--group", "'x'"});
}

TEST_F(DoubtfulRows, ARelationshipThatIsNoneIsSaid) {
  std::string identity;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kRows; ++j) {
      identity += fmt::format("{}{}", j > 0 ? " " : "", i == j ? 1 : 0);
    }
    identity += "\n";
  }
  expect_said(Arguments{"fit", train_, "--columns", "x,y", "--relationship",
                        folder_.write("identity.txt", identity),
                        "--relationship-by-position", "--out", path("run")} +
                  small_fit(),
              {"no two training rows are related: lambda cannot be learned"});
}

TEST_F(DoubtfulRows, OneRunIsNoComparison) {
  run_well(fit_of(train_));
  expect_refusal(folder_, {"compare", path("run")},
                 {"runs: expected 2 or more, found 1"});
}

}  // namespace
}  // namespace kinflow::cli
