// Tables as other programs write them: -9, missing values, gzip, names with commas, and
// what is refused about them.
#include <nlohmann/json.hpp>

#include "kinflow/core/random.h"
#include "kinflow/data/npy.h"
#include "kinflow/data/table.h"
#include "kinflow/data/zipped_file.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

class Tables : public testing::Test {
 protected:
  static constexpr int kRows = 60;

  std::string write(const std::string& name, const std::string& bytes) {
    return folder_.write(name, bytes);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  void expect_refused(const Arguments& arguments, const Arguments& mentioned) {
    expect_refusal(folder_, arguments, mentioned);
  }

  /// Rows of the columns a, b and c; `special` gives cells that are not drawn.
  static std::string rows(const std::string& header,
                          const std::map<std::pair<int, int>, std::string>& special,
                          double scale = 1, std::uint64_t seed = 1) {
    Random random(seed);
    std::string text = header + "\n";
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < 3; ++column) {
        const auto found = special.find({row, column});
        const double drawn = scale * random.normal();
        text += found == special.end() ? std::to_string(drawn) : found->second;
        text += column < 2 ? "," : "\n";
      }
    }
    return text;
  }
  std::string table(const std::string& name,
                    const std::map<std::pair<int, int>, std::string>& special = {},
                    double scale = 1, std::uint64_t seed = 1) {
    return write(name, rows("a,b,c", special, scale, seed));
  }

  Arguments fit(const std::string& from, const Arguments& more = {},
                const std::string& out = "run") const {
    return Arguments{"fit", from, "--independent", "--out", path(out)} +
           small_fit(more);
  }
  Arguments evaluate(const std::string& from, const Arguments& more = {},
                     const std::string& model = "run") const {
    return Arguments{"evaluate", path(model), from, "--json", "--threads", "1"} + more;
  }
  nlohmann::json scores(const std::string& from, const Arguments& more = {},
                        const std::string& model = "run") const {
    return nlohmann::json::parse(run_well(evaluate(from, more, model)));
  }

  const TemporaryFolder folder_;
};

using Tokens = std::vector<std::string>;

// ---- -9

TEST_F(Tables, MinusNineIsAskedAbout) {
  const auto coded = table("t.csv", {{{4, 1}, "-9"}, {{7, 2}, "-9.0"}, {{9, 1}, "-9"}});
  expect_refused(fit(coded),
                 {coded + ":6: column 'b'", "-9", "a missing value",
                  "--minus-nine missing", "--minus-nine value", "also 'c' (line 9)"});
  // Rows that are left out for other reasons, and columns without a role, do no harm.
  run_well(fit(coded, {"--columns", "a"}, "alone"));
}

TEST_F(Tables, TheMeaningOfMinusNineIsKeptInTheModel) {
  const auto coded = table("t.csv", {{{4, 1}, "-9"}, {{9, 1}, "-9"}});
  expect_refused(fit(coded, {"--minus-nine", "missing"}),
                 {coded + ":6", "'b'", "-9, a missing value", "--drop-missing"});
  const auto missing =
      run(fit(coded, {"--minus-nine", "missing", "--drop-missing"}, "missing"));
  EXPECT_EQ(missing.exit_code, 0) << missing.err;
  EXPECT_NE(missing.err.find("2 rows with missing values"), std::string::npos);
  run_well(fit(coded, {"--minus-nine", "value"}, "value"));
  for (const std::string choice : {"missing", "value"}) {
    const auto record = nlohmann::json::parse(content_of(path(choice + "/run.json")));
    EXPECT_EQ(record["request"]["data"]["minus_nine"], choice);
  }

  expect_refused(evaluate(coded, {}, "missing"), {coded + ":6", "'b'", "missing"});
  EXPECT_EQ(scores(coded, {"--drop-missing"}, "missing")["rows"], kRows - 2);
  EXPECT_EQ(scores(coded, {"--minus-nine", "value"}, "missing")["rows"], kRows);
  EXPECT_EQ(scores(coded, {}, "value")["rows"], kRows);
  run_well(
      {"transform", path("missing"), coded, "--drop-missing", "--out", path("u.csv")});
  EXPECT_EQ(labels(read_table(path("u.csv")), "u1", {3}).size(), 1u);
  EXPECT_EQ(cell_texts(read_table(path("u.csv")), "u1")[4], "");
}

TEST_F(Tables, AModelWithoutMinusNineInItsTrainingAsks) {
  run_well(fit(table("t.csv")));
  const auto coded = table("new.csv", {{{4, 1}, "-9"}}, 1, 2);
  const Arguments mentioned = {coded + ":6: column 'b'", "--minus-nine missing"};
  expect_refused(evaluate(coded), mentioned);
  expect_refused({"transform", path("run"), coded, "--out", path("u.csv")}, mentioned);
  expect_refused(fit(path("t.csv"), {"--valid", coded}, "other"), mentioned);
  EXPECT_EQ(scores(coded, {"--minus-nine", "value"})["rows"], kRows);
}

TEST_F(Tables, MinusNineAmongNumbersLikeItIsANumber) {
  // The columns go far below -9.
  const auto wide = table("t.csv", {{{4, 1}, "-9"}, {{7, 2}, "-9"}}, 15);
  run_well(fit(wide));
  EXPECT_EQ(scores(wide)["rows"], kRows);
  const auto other = table("new.csv", {{{4, 0}, "-9"}, {{5, 0}, "-9"}}, 15, 2);
  EXPECT_EQ(scores(other)["rows"], kRows);
  // As often as here it stands for something else.
  std::map<std::pair<int, int>, std::string> many;
  for (int row = 0; row < 10; ++row) many[{row, 1}] = "-9";
  expect_refused(fit(table("many.csv", many, 15), {}, "many"),
                 {"many.csv:2: column 'b'", "--minus-nine"});
}

TEST_F(Tables, MinusNineInOtherRolesIsAskedAboutToo) {
  std::map<std::pair<int, int>, std::string> special;
  for (int row = 0; row < kRows; ++row) {
    special[{row, 2}] = row % 7 == 3 ? "-9" : std::to_string(row % 5);
  }
  const auto grouped = table("g.csv", special);
  const auto refused = [&](const Arguments& more) {
    expect_refused(Arguments{"fit", grouped, "--out", path("run")} + small_fit(more),
                   {grouped + ":5: column 'c'", "-9", "--minus-nine"});
  };
  refused({"--group", "c"});
  refused({"--independent", "--time", "c", "--split-by", "time"});
  refused({"--independent", "--context", "c"});

  const auto people = table("t.csv");
  std::string vectors = "#IID\tPC1\tPC2\n";
  for (int row = 0; row < kRows; ++row) {
    vectors += "p" + std::to_string(row) + "\t0." + std::to_string(row + 1) + "\t" +
               (row == 3 ? "-9" : "0.1") + "\n";
  }
  for (const std::string name : {"c.eigenvec", "c.tsv"}) {
    const auto components = write(name, vectors);
    expect_refused(Arguments{"fit", people, "--relationship-pcs", components,
                             "--relationship-by-position", "--out", path("run")} +
                       small_fit(),
                   {components + ":5", "-9", "--minus-nine"});
  }
}

TEST_F(Tables, ASweepHasTheOptionToo) {
  const auto coded = table("t.csv", {{{4, 1}, "-9"}});
  const auto specification = [&](const std::string& more) {
    return write("spec.json",
                 R"({"fixed": {"table": ")" + coded +
                     R"(", "independent": true, "hidden": 8, "bins": 4, "epochs": 2)" +
                     more + R"(}, "grid": {"learning-rate": [0.01, 0.02]}})");
  };
  expect_refused({"sweep", specification(""), "--out", path("s")},
                 {coded + ":6", "--minus-nine"});
  run_well({"sweep",
            specification(R"(, "minus-nine": "missing", "drop-missing": true)"),
            "--out", path("s")});
  EXPECT_EQ(scores(coded, {"--drop-missing"}, "s/best")["rows_left_out"], 1);
}

// ---- missing values

TEST_F(Tables, OneSetOfMissingValuesHoldsForAllVerbs) {
  const Tokens tokens = {"",  "NA",   "na",   "N/A",  "#N/A", "n/a",  "NaN",
                         ".", "null", "NULL", "None", "nan",  "#n/a", "\"NA\""};
  std::map<std::pair<int, int>, std::string> special;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    special[{static_cast<int>(2 * i), 1}] = tokens[i];
  }
  const auto gaps = table("t.csv", special);
  expect_refused(fit(gaps), {gaps + ":2", "'b'", "a missing value", "--drop-missing"});
  const auto fitted = run(fit(gaps, {"--drop-missing"}));
  EXPECT_EQ(fitted.exit_code, 0) << fitted.err;
  EXPECT_NE(fitted.err.find(std::to_string(tokens.size()) + " rows with missing"),
            std::string::npos)
      << fitted.err;
  EXPECT_EQ(scores(gaps, {"--drop-missing"})["rows"],
            kRows - static_cast<int>(tokens.size()));
  for (const std::string text : {"none", "missing", "-", "nul", "?"}) {
    expect_refused(fit(table("u.csv", {{{3, 1}, text}}), {"--drop-missing"}, "none"),
                   {"u.csv:5", "'b'", "expected a number", "'" + text + "'"});
  }
}

// ---- rows that stay

TEST_F(Tables, ScoresStandBesideTheirRows) {
  std::map<std::pair<int, int>, std::string> labelled;
  for (int row = 0; row < kRows; ++row) labelled[{row, 2}] = std::to_string(row % 6);
  const auto whole = table("whole.csv", labelled);
  run_well(Arguments{"fit", whole, "--group", "c", "--out", path("run")} + small_fit());
  labelled[{0, 0}] = "NA";
  labelled[{20, 1}] = "";
  labelled[{kRows - 1, 1}] = "null";
  const auto gaps = table("gaps.csv", labelled);
  const std::vector<std::size_t> missing = {0, 20, kRows - 1};

  run_well(evaluate(whole, {"--out", path("whole_scores.csv")}));
  const auto expected =
      numeric_matrix(read_table(path("whole_scores.csv")), {"log_density_nats"}).values;
  const auto check = [&](const Tokens& cells, bool same_values) {
    ASSERT_EQ(cells.size(), static_cast<std::size_t>(kRows));
    for (std::size_t row = 0; row < cells.size(); ++row) {
      const bool is_missing =
          std::find(missing.begin(), missing.end(), row) != missing.end();
      EXPECT_EQ(cells[row].empty(), is_missing) << row;
      if (is_missing || !same_values) continue;
      EXPECT_NEAR(std::stod(cells[row]), expected[row], 1e-9) << row;
    }
  };
  for (const Arguments& dependence : {Arguments{}, Arguments{"--group", "c"}}) {
    for (const std::string name : {"s.csv", "s.tsv", "s.csv.gz"}) {
      const auto json = scores(
          gaps,
          dependence + Arguments{"--drop-missing", "--overwrite", "--out", path(name)});
      EXPECT_EQ(json["rows"], kRows - 3);
      EXPECT_EQ(json["rows_left_out"], 3);
      check(cell_texts(read_table(path(name)), "log_density_nats"), true);
    }
    scores(gaps, dependence + Arguments{"--drop-missing", "--overwrite", "--keep",
                                        "a,c", "--out", path("k.csv")});
    const auto kept = read_table(path("k.csv"));
    check(cell_texts(kept, "log_density_nats"), true);
    EXPECT_EQ(cell_texts(kept, "a"), cell_texts(read_table(gaps), "a"));
    EXPECT_EQ(cell_texts(kept, "c"), cell_texts(read_table(gaps), "c"));
    scores(gaps, dependence + Arguments{"--drop-missing", "--overwrite", "--out",
                                        path("s.npy")});
    const auto array = read_npy(path("s.npy")).values;
    ASSERT_EQ(array.size(), static_cast<std::size_t>(kRows));
    EXPECT_TRUE(std::isnan(array[20]));
    EXPECT_NEAR(array[21], expected[21], 1e-9);
  }
}

TEST_F(Tables, LatentsStandBesideTheirRows) {
  const auto whole = table("whole.csv");
  run_well(fit(whole, {"--columns", "a,b", "--context", "c"}));
  const auto gaps = table("gaps.csv", {{{3, 1}, "NA"}, {{8, 2}, "."}});
  const Arguments transform = {"transform", path("run")};
  run_well(transform + Arguments{whole, "--out", path("w.csv")});
  run_well(transform +
           Arguments{gaps, "--drop-missing", "--keep", "a", "--out", path("u.csv")});
  const auto latents = read_table(path("u.csv")), all = read_table(path("w.csv"));
  ASSERT_EQ(latents.rows(), kRows);
  const auto u1 = cell_texts(latents, "u1"), expected = cell_texts(all, "u1");
  EXPECT_EQ(u1[3], "");
  EXPECT_EQ(u1[8], "");
  EXPECT_NEAR(std::stod(u1[4]), std::stod(expected[4]), 1e-9);
  EXPECT_NEAR(std::stod(u1[59]), std::stod(expected[59]), 1e-9);
  EXPECT_EQ(cell_texts(latents, "a"), cell_texts(read_table(gaps), "a"));
  EXPECT_EQ(cell_texts(latents, "c")[8], ".");

  run_well(transform + Arguments{path("u.csv"), "--inverse", "--drop-missing", "--out",
                                 path("back.csv")});
  const auto back = cell_texts(read_table(path("back.csv")), "b");
  const auto b = cell_texts(read_table(gaps), "b");
  ASSERT_EQ(back.size(), static_cast<std::size_t>(kRows));
  EXPECT_EQ(back[3], "");
  EXPECT_NEAR(std::stod(back[4]), std::stod(b[4]), 1e-6);
}

// ---- gzip

TEST_F(Tables, GzippedTablesAreTables) {
  const auto plain = rows("a,b,c", {});
  const auto csv = write("t.csv", plain);
  const auto zip = [&](const std::string& name, const std::string& text) {
    ZippedFile file(path(name));
    file.write(text);
    file.commit();
    return path(name);
  };
  auto tabs = plain;
  std::replace(tabs.begin(), tabs.end(), ',', '\t');
  run_well(fit(csv));
  const double expected = scores(csv)["mean_nll_nats"];
  const auto others = zip("others.csv.gz", rows("a,b,c", {}, 1, 2));
  for (const auto& zipped : {zip("t.csv.gz", plain), zip("t.tsv.gz", tabs)}) {
    EXPECT_EQ(scores(zipped)["mean_nll_nats"], expected);
    run_well(fit(zipped, {"--valid", others}, "zipped"));
    std::filesystem::remove_all(path("zipped"));
  }
  // By their first bytes, whatever their name.
  std::filesystem::copy_file(path("t.csv.gz"), path("named.csv"));
  EXPECT_EQ(scores(path("named.csv"))["mean_nll_nats"], expected);

  const auto bytes = content_of(path("t.csv.gz"));
  expect_refused(evaluate(write("cut.csv.gz", bytes.substr(0, bytes.size() / 2))),
                 {"cut.csv.gz", "gzip data end"});
  auto damaged = bytes;
  for (std::size_t i = 100; i < 120; ++i) damaged[i] = 'x';
  expect_refused(evaluate(write("bad.csv.gz", damaged)), {"bad.csv.gz", "gzip data"});
  expect_refused(evaluate(write("t.npy.gz", bytes)), {"t.npy.gz", ".csv"});
  expect_refused(evaluate(write("z.csv", "\x28\xb5\x2f\xfd....")), {"zstd -d"});
}

// ---- names

TEST_F(Tables, NamesOfColumnsMayHaveCommas) {
  const auto named = write("t.csv", rows("\"Weight, kg\",b,\"x,y\"", {}));
  const auto columns_of = [&](const Arguments& options) -> nlohmann::json {
    std::filesystem::remove_all(path("run"));
    run_well(fit(named, options));
    return nlohmann::json::parse(
        run_well({"inspect", path("run"), "--json"}))["columns"];
  };
  const Tokens both = {"Weight, kg", "b"};
  EXPECT_EQ(columns_of({"--columns", "\"Weight, kg\",b"}), both);
  EXPECT_EQ(columns_of({"--columns", "Weight, kg,b"}), both);
  EXPECT_EQ(columns_of({"--columns", "b,x,y,Weight, kg"}),
            (Tokens{"b", "x,y", "Weight, kg"}));
  EXPECT_EQ(columns_of({"--columns", "b", "--context", "x,y"}), (Tokens{"b"}));
  EXPECT_EQ(columns_of({}), (Tokens{"Weight, kg", "b", "x,y"}));
  run_well(
      {"transform", path("run"), named, "--keep", "x,y,b", "--out", path("u.csv")});
  EXPECT_EQ(read_table(path("u.csv")).names(), (Tokens{"u1", "u2", "u3", "x,y", "b"}));
  expect_refused(fit(named, {"--columns", "\"b"}, "other"),
                 {"--columns", "a quote that is not closed"});
  expect_refused(fit(named, {"--columns", "b,x,z"}, "other"), {"no columns 'x', 'z'"});
  // A comma separates where both sides are names.
  const auto doubtful = write("d.csv", rows("x,y,\"x,y\"", {}));
  run_well(fit(doubtful, {"--columns", "x,y"}, "two"));
  run_well(fit(doubtful, {"--columns", "\"x,y\""}, "one"));
  EXPECT_NE(content_of(path("two/run.json")).find("\"x\""), std::string::npos);
  EXPECT_NE(content_of(path("one/run.json")).find("\"x,y\""), std::string::npos);
}

// ---- what is refused

TEST_F(Tables, AllBadColumnsAreNamed) {
  const auto bad = table("t.csv", {{{3, 2}, "x"}, {{5, 0}, "NA"}, {{9, 1}, "inf"}});
  expect_refused(fit(bad), {bad + ":5: column 'c'", "'x'",
                            "'a' (a missing value in "
                            "line 7)",
                            "'b' ('inf' in line 11)"});
  expect_refused(fit(bad, {"--columns", "a,p,q,r"}), {"no columns 'p', 'q', 'r'"});
  run_well(fit(table("good.csv")));
  expect_refused(evaluate(bad), {"'c'", "'a'", "'b'"});
  expect_refused(evaluate(write("few.csv", "c\n1\n")), {"no columns 'a', 'b'"});
  std::string header, first, second;
  for (int i = 0; i < 12; ++i) {
    header += (i > 0 ? ",v" : "v") + std::to_string(i);
    first += i > 0 ? ",low" : "low";
    second += i > 0 ? ",1" : "1";
  }
  expect_refused(
      fit(write("wide.csv", header + "\n" + first + "\n" + second + "\n"), {}, "w"),
      {"wide.csv:2: column 'v0'", "'v5' ('low' in line 2) and 6 more"});
}

TEST_F(Tables, NumbersInOtherNotationsAreRefused) {
  const auto refused = [&](const std::string& name, const std::string& text,
                           const Arguments& mentioned) {
    expect_refused(fit(write(name, text)), mentioned);
  };
  refused("t.tsv", "a\tb\n1,5\t2\n2,5\t3\n", {":2", "'a'", "'1,5'", "point"});
  refused("t.csv", "a,b\n\"1,234\",2\n3,4\n", {":2", "'a'", "'1,234'", "no commas"});
  refused("t.csv", "a,b\n1.234.567,2\n3,4\n", {":2", "'a'", "'1.234.567'"});
  refused("t.csv", "a,b\n1 234,2\n3,4\n", {":2", "'a'", "'1 234'"});
  refused("t.csv", "a;b\n1,5;2\n", {":1", "commas", "semicolons"});
  refused("t.tsv", "a;b\n1;2\n", {":1", "tabs", "semicolons"});
  refused("t.tsv", "a,b\n1,2\n", {":1", "tabs", "commas"});
  refused("t.csv", "a\tb\n1\t2\n", {":1", "commas", "tabs", ".tsv"});
  refused("t.csv", "a,b\r1,2\r3,4\r", {":1", "CR alone"});
  refused("t.csv", "1.5,NA\n2,3\n", {":1", "names of the columns", "numbers"});
  refused("t.csv", "171,65\n180,82\n", {":1", "names of the columns", "numbers"});
  refused("t.csv", "171\n180\n", {":1", "names of the columns", "numbers"});
  refused("t.csv", "a,b\n1,5,6\n2,8,9\n",
          {":2", "expected 2 cells", "found 3; if the first numbers the row"});
  for (const std::string cell :
       {"0x1F", "1d5", "5%", "TRUE", "1_000", "1'000", "--1"}) {
    refused("t.csv", "a,b\n1,2\n3," + cell + "\n", {":3", "'b'", "expected a number"});
  }
  for (const std::string cell : {"inf", "-Infinity", "1e999"}) {
    refused("t.csv", "a,b\n1,2\n3," + cell + "\n", {":3", "'b'", "finite"});
  }
  refused("t.csv", "a,b,a\n1,2,3\n", {":1", "two columns", "'a'"});
  refused("t.csv", "a,b,\n1,2,\n", {":1", "column 3 has no name"});
  refused("t.csv", "a,b\n1,2,\n", {":2", "expected 2 cells", "found 3"});
  refused("t.csv",
          std::string("\xff\xfe"
                      "a\0,\0b\0\n\0",
                      10),
          {"UTF-16", "UTF-8"});
}

// As pandas writes an array, and a table of years.
TEST_F(Tables, NamesMayCount) {
  for (const std::string names : {"0,1,2", "2019,2020,2021"}) {
    run_well(fit(write("t.csv", rows(names, {})), kOverwrite));
  }
}

TEST_F(Tables, ByteOrderMarksAndLineEndsDoNotMatter) {
  const auto text = rows("a,b,c", {});
  run_well(fit(write("t.csv", text)));
  const auto expected = scores(path("t.csv"));
  std::string other = "\xef\xbb\xbf";
  for (const char c : text)
    other += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(scores(write("windows.csv", other)), expected);
}

}  // namespace
}  // namespace kinflow::cli
