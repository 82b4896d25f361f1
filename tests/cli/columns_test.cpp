// Columns that a flow cannot learn, values apart from others, and categories as
// context.
#include <cmath>
#include <functional>

#include "kinflow/core/random.h"
#include "kinflow/data/table.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// A table of comma-separated columns; `row` gives the cells of a row.
std::string table_of(const std::string& header, int rows,
                     const std::function<std::string(int row)>& row) {
  std::string text = header + "\n";
  for (int i = 0; i < rows; ++i) text += row(i) + "\n";
  return text;
}

class ModelledColumns : public testing::Test {
 protected:
  Arguments fit_of(const std::string& table, const Arguments& more,
                   const std::string& epochs = "3") {
    return Arguments{"fit", table, "--independent", "--out", folder_.path("run")} +
           small_fit(more, epochs);
  }
  void expect_refused(const std::string& table, const Arguments& mentioned,
                      const Arguments& more = {}) {
    expect_refusal(folder_, fit_of(table, more), mentioned);
  }
  /// Fits, and gives what was said on standard error.
  std::string fit_well(const std::string& table, const Arguments& more = {},
                       const std::string& epochs = "3") {
    std::filesystem::remove_all(folder_.path("run"));
    const Outcome outcome = run(fit_of(table, more, epochs));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.err;
  }
  std::string normal() { return std::to_string(random_.normal()); }

  TemporaryFolder folder_;
  Random random_{17};
};

TEST_F(ModelledColumns, ATwoValuedTraitIsRefusedUnlessItsTiesAreAllowed) {
  const auto table = folder_.write("t.csv", table_of("x,sick,y", 2000, [&](int i) {
                                     return normal() + "," + (i % 80 == 7 ? "1" : "0") +
                                            "," + normal();
                                   }));
  expect_refused(table, {table, "'sick'", "the value 0 in 98.8%", "--columns",
                         "--context", "--allow-ties sick"});
  expect_refused(table, {"'sick'"}, {"--flow", "affine"});
  expect_refused(table, {"--allow-ties", "modelled", "'z'"}, {"--allow-ties", "z"});
  fit_well(table, {"--columns", "x,y", "--context", "sick"});
  fit_well(table, {"--allow-ties", "sick"});
  EXPECT_NE(content_of(folder_.path("run/run.json")).find("\"allow_ties\""),
            std::string::npos);
}

TEST_F(ModelledColumns, RoundedColumnsAreRefusedByTheShareOfTheirTies) {
  const auto rounded = [&](double step) {
    return folder_.write("t.csv", table_of("x,y", 1000, [&](int) {
                           return std::to_string(std::round(random_.normal() / step)) +
                                  "," + normal();
                         }));
  };
  expect_refused(rounded(1), {"'x'", "the value"});
  fit_well(rounded(0.1));
  // A spline of more bins finds finer steps.
  expect_refusal(folder_,
                 {"fit", rounded(0.1), "--independent", "--bins", "64", "--epochs", "1",
                  "--out", folder_.path("more_bins")},
                 {"'x'", "the value"});
}

TEST_F(ModelledColumns, DuplicatedAndCollinearColumnsAreNamed) {
  const auto table =
      folder_.write("t.csv", table_of("a,b,copy,total,log_a", 300, [&](int) {
                      const double a = std::exp(random_.normal()), b = random_.normal();
                      char text[128];
                      std::snprintf(text, sizeof(text), "%.6g,%.6g,%.6g,%.6g,%.8g", a,
                                    b, 2.2 * b, a + b, std::log(a));
                      return std::string(text);
                    }));
  expect_refused(table, {table, "'copy' is a linear function of 'b'",
                         "'total' is a linear combination of 'a', 'b'"});
  expect_refused(table, {"'log_a' is a monotone function of 'a'"},
                 {"--columns", "a,b,log_a"});
  fit_well(table, {"--columns", "a,b"});
}

TEST_F(ModelledColumns, AnIndexIsModelledOnlyWhereItIsNamed) {
  const auto with_index = [&](const std::string& name, int first) {
    return folder_.write("t.csv", table_of(name + ",x,y", 60, [&](int i) {
                           return std::to_string(i + first) + "," + normal() + "," +
                                  normal();
                         }));
  };
  expect_refused(with_index("rownames", 1),
                 {"'rownames' (in the order of the rows)", "--columns x,y"});
  expect_refused(with_index("Unnamed: 0", 0), {"'Unnamed: 0'", "--columns x,y"});
  expect_refused(with_index("", 0), {":1:", "column 1 has no name", "index=False"});
  fit_well(with_index("rownames", 1), {"--columns", "rownames,x,y"});
  fit_well(with_index("rownames", 1), {"--columns", "x,y"});
}

TEST_F(ModelledColumns, ACodeOfTheGroupIsModelledOnlyWhereItIsNamed) {
  const auto table = folder_.write("t.csv", table_of("code,x,g", 60, [&](int i) {
                                     return std::to_string((i / 3) * 7 % 20) + "," +
                                            normal() + ",p" + std::to_string(i / 3);
                                   }));
  const Arguments fit =
      Arguments{"fit", table, "--group", "g", "--out", folder_.path("run")} +
      small_fit();
  expect_refusal(folder_, fit, {table, "'code' (one value in each group)"});
  run_well(fit + Arguments{"--columns", "code,x"});
}

TEST_F(ModelledColumns, ASweepIsCheckedLikeAFit) {
  folder_.write("t.csv", table_of("x,sick", 200, [&](int i) {
                  return normal() + "," + (i % 80 == 7 ? "1" : "0");
                }));
  const auto spec =
      folder_.write("spec.json", R"({"fixed": {"table": ")" + folder_.path("t.csv") +
                                     R"(", "independent": true, "epochs": 1}})");
  expect_refusal(folder_, {"sweep", spec, "--out", folder_.path("sweep")},
                 {"'sick'", "--allow-ties"});
}

TEST_F(ModelledColumns, ACodeOfMissingValuesIsWarnedOfWithItsLineAndValue) {
  for (const std::string code : {"9999", "-999", "999"}) {
    const auto table =
        folder_.write("t.csv", table_of("x,y", 1000, [&](int i) {
                        return normal() + "," + (i == 41 ? code : normal());
                      }));
    const auto told = fit_well(table);
    for (const auto& part :
         Arguments{"warning: " + table + ":43: column 'y': " + code, "missing value"}) {
      EXPECT_NE(told.find(part), std::string::npos) << part << "\n" << told;
    }
  }
}

// Such a code need not lie far away.
TEST_F(ModelledColumns, ACodeThatRepeatsItselfIsWarnedOf) {
  const auto with = [&](const std::string& code, int every) {
    return folder_.write("t.csv", table_of("x,y", 300, [&](int i) {
                           const auto weight =
                               std::to_string(100 + 15 * random_.normal());
                           return normal() + "," + (i % every == 3 ? code : weight);
                         }));
  };
  for (const std::string code : {"-1", "0", "-99"}) {
    const auto told = fit_well(with(code, 20));
    EXPECT_NE(told.find(":5: column 'y': " + code +
                        " lies far from all other values, "
                        "in 15 rows"),
              std::string::npos)
        << told;
  }
  // A limit of the scale, which has neighbours, and a value that is rounded.
  EXPECT_EQ(fit_well(with("62", 20)).find("lies far"), std::string::npos);
  const auto rounded =
      folder_.write("t.csv", table_of("x,y", 300, [&](int i) {
                      const int step = (i * 7) % 19;
                      return normal() + "," + std::to_string(i % 20 == 3 ? -15 : step);
                    }));
  EXPECT_EQ(fit_well(rounded).find("lies far"), std::string::npos);
}

TEST_F(ModelledColumns, SkewedColumnsAreNotWarnedOf) {
  const auto table = folder_.write("t.csv", table_of("x,y", 1000, [&](int) {
                                     return std::to_string(std::exp(random_.normal())) +
                                            "," + normal();
                                   }));
  EXPECT_EQ(fit_well(table).find("lies far"), std::string::npos);
}

class CategoriesAsContext : public ModelledColumns {
 protected:
  static constexpr int kRows = 240;
  const std::string regions_[3] = {"west", "east", "north"};

  std::string table() {
    return folder_.write("t.csv", table_of("x,y,region,age", kRows, [&](int i) {
                           const double shift = 5 * (i % 3);
                           return std::to_string(shift + random_.normal()) + "," +
                                  normal() + "," + regions_[i % 3] + "," + normal();
                         }));
  }
  void fit_with_regions(const std::string& table) {
    fit_well(table,
             {"--columns", "x,y", "--context", "region,age", "--learning-rate", "0.03"},
             "40");
  }
};

TEST_F(CategoriesAsContext, TextBecomesIndicatorsThatTheModelKeeps) {
  const auto train = table();
  fit_with_regions(train);
  const auto run_folder = folder_.path("run");
  const auto shown = run_well({"inspect", run_folder});
  EXPECT_NE(shown.find("region (east, north, west), age"), std::string::npos) << shown;

  // The same rows have the same latents whatever other rows and levels stand beside.
  const auto few =
      folder_.write("few.csv", "region,age,y,x\nnorth,0.1,0.2,10.5\nwest,0,0.3,0.4\n");
  const auto one = folder_.write("one.csv", "region,age,y,x\nwest,0,0.3,0.4\n");
  run_well({"transform", run_folder, few, "--out", folder_.path("u2.csv")});
  run_well({"transform", run_folder, one, "--out", folder_.path("u1.csv")});
  const auto both =
      numeric_matrix(read_table(folder_.path("u2.csv")), {"u1", "u2"}).values;
  const auto alone =
      numeric_matrix(read_table(folder_.path("u1.csv")), {"u1", "u2"}).values;
  EXPECT_NEAR(both[2], alone[0], 1e-12);
  EXPECT_NEAR(both[3], alone[1], 1e-12);

  // And back, with the region in the table of latents.
  run_well({"transform", run_folder, folder_.path("u2.csv"), "--inverse", "--out",
            folder_.path("x.csv")});
  const auto back =
      numeric_matrix(read_table(folder_.path("x.csv")), {"x", "y"}).values;
  EXPECT_NEAR(back[0], 10.5, 1e-6);
  EXPECT_NEAR(back[3], 0.3, 1e-6);
  run_well({"evaluate", run_folder, train});
}

TEST_F(CategoriesAsContext, DrawsFollowTheCategoryOfTheirRow) {
  fit_with_regions(table());
  const auto wanted = folder_.write("w.csv", table_of("region,age", 600, [&](int i) {
                                      return regions_[i % 3] + ",0";
                                    }));
  run_well(
      {"sample", folder_.path("run"), "--for", wanted, "--out", folder_.path("s.csv")});
  const auto drawn = read_table(folder_.path("s.csv"));
  const auto values = numeric_matrix(drawn, {"x"}).values;
  const auto regions = labels(drawn, "region");
  double mean[3] = {0, 0, 0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(regions[i], regions_[i % 3]);
    mean[i % 3] += values[i] / 200;
  }
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(mean[i], 5 * i, 1) << regions_[i];
}

TEST_F(CategoriesAsContext, UnknownAndDoubtfulCategoriesAreRefused) {
  const auto train = table();
  fit_with_regions(train);
  const auto other = folder_.write("o.csv", "x,y,region,age\n1,2,east,0\n1,2,EAST,0\n");
  const Arguments said = {other + ":3:", "'region'", "'east', 'north', 'west'",
                          "'EAST'"};
  expect_refusal(folder_, {"evaluate", folder_.path("run"), other}, said);
  expect_refusal(
      folder_,
      {"transform", folder_.path("run"), other, "--out", folder_.path("u.csv")}, said);
  expect_refusal(
      folder_,
      {"sample", folder_.path("run"), "--for", other, "--out", folder_.path("s.csv")},
      said);
  std::filesystem::remove_all(folder_.path("run"));
  expect_refused(train, said,
                 {"--columns", "x,y", "--context", "region,age", "--valid", other});
  const auto with_context = [&](const std::function<std::string(int)>& cell) {
    return folder_.write("c.csv", table_of("x,y,c", 120, [&](int i) {
                           return normal() + "," + normal() + "," + cell(i);
                         }));
  };
  const Arguments by_c = {"--columns", "x,y", "--context", "c"};
  expect_refused(with_context([](int i) { return "p" + std::to_string(i); }),
                 {"'c'", "at most 50 categories", "found 120"}, by_c);
  const auto mixed = with_context([](int i) { return i == 50 ? "high" : "1"; });
  expect_refused(mixed, {mixed + ":52:", "'c'", "'high'", "'1' in line 2"}, by_c);
  expect_refused(train, {"expected different columns", "'region' twice"},
                 {"--columns", "x,y", "--context", "region,age,region"});
  expect_refused(with_context([](int) { return "same"; }), {"'c'", "'same' in all"},
                 by_c);
}

}  // namespace
}  // namespace kinflow::cli
