// Tables, matrices and options that are refused: one line that says where and what,
// exit code 2, and nothing written.
#include <sys/stat.h>

#include "kinflow/core/random.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// Files of one test, and what the binary says to them.
class BadInput : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    return folder_.write(name, bytes);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  void expect_refused(const Arguments& arguments, const Arguments& mentioned) {
    expect_refusal(folder_, arguments, mentioned);
  }
  /// `kinflow fit` of a table with two data columns and the labels `g`.
  void expect_table_refused(const std::string& table, const Arguments& mentioned,
                            const Arguments& more = {}) {
    expect_refused(
        Arguments{"fit", table, "--group", "g", "--out", path("run")} + small_fit(more),
        Arguments{table} + mentioned);
  }
  std::string good_table() {
    return write("good.csv", "a,b,g\n1,2,x\n2,1,x\n3,5,y\n4,3,y\n6,2,z\n");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(BadInput, WrongVerbsSemicolonsAndOutputsThatAreInputs) {
  expect_refused({"fti", "table.csv"}, {"expected a verb", "fit", "'fti'"});
  const auto table = write("semicolons.csv", "a;b\n1;2\n3;4\n");
  expect_refused({"fit", table, "--independent", "--out", path("run")},
                 {table, "semicolons"});
  const auto data = write("data.csv", "x1,x2\n0,1\n1,0\n");
  for (const auto& verb : Arguments{"transform", "evaluate"}) {
    expect_refused({verb, SharedFiles::get().blocks_run, data, "--out", data},
                   {"--out", "another file than the input"});
  }
}

TEST_F(BadInput, AMissingTimeIsAMissingValue) {
  Random random(3);
  std::string rows = "x,t\n";
  for (int i = 0; i < 40; ++i) {
    rows += std::to_string(random.normal()) + "," +
            (i == 7 ? "NA" : std::to_string(i)) + "\n";
  }
  const auto table = write("times.csv", rows);
  const Arguments arguments =
      Arguments{"fit",    table, "--independent", "--split-by", "time",
                "--time", "t",   "--out",         path("run")} +
      small_fit();
  expect_refused(arguments, {table + ":9", "'t'", "--drop-missing"});
  const auto dropped = run(arguments + Arguments{"--drop-missing"});
  EXPECT_EQ(dropped.exit_code, 0);
  EXPECT_NE(dropped.err.find("1 row with missing values"), std::string::npos);
}

TEST_F(BadInput, FilesThatCannotBeReadAsTables) {
  expect_table_refused(path("no.csv"), {"cannot read (No such file or directory)"});
  std::filesystem::create_directory(path("folder.csv"));
  expect_table_refused(path("folder.csv"), {"cannot read (Is a directory)"});
  ASSERT_EQ(::mkfifo(path("pipe.csv").c_str(), 0600), 0);
  expect_table_refused(path("pipe.csv"), {"found a pipe"});
  expect_table_refused(write("t.xlsx", "PK"), {"expected a name that ends in .csv"});
  expect_table_refused(write("noise.csv", std::string("\x80\x01\0\xff,\n\x02", 7)),
                       {":1:", "not a table"});
  expect_table_refused(write("noise.npy", "noise"), {"not a .npy file"});
  expect_table_refused(write("ragged.csv", "a,b,g\n1,2,x\n3,4\n5,6,y\n"),
                       {":3:", "expected 3 cells", "found 2"});
}

TEST_F(BadInput, CellsThatAreNoFiniteNumbers) {
  const auto table = [&](const std::string& cell) {
    return write("t.csv", "a,b,g\n1,2,x\n3," + cell + ",x\n5,6,y\n");
  };
  expect_table_refused(table("tall"), {":3:", "'b'", "expected a number", "'tall'"});
  expect_table_refused(table("inf"), {":3:", "'b'", "expected a finite number"});
  expect_table_refused(table("nan"), {":3:", "'b'", "expected a number", "missing"});
  expect_table_refused(write("g.csv", "a,b,g\n1,2,x\n3,4,NA\n5,6,y\n"),
                       {":3:", "'g'", "expected a label", "missing"});
}

TEST_F(BadInput, ColumnsThatAreNotThereOrChosenTwice) {
  const std::string table = good_table();
  expect_table_refused(table, {"'c'", "a, b, g"}, {"--columns", "a,c"});
  expect_table_refused(table, {"expected different columns", "'a' twice"},
                       {"--columns", "a,a"});
  expect_table_refused(table, {"'g'", "expected one role"}, {"--columns", "a,g"});
  expect_refused(Arguments{"fit", table, "--group", "who", "--out", path("run")},
                 {table, "'who'", "a, b, g"});
  expect_table_refused(table, {"'g'", "expected one role"}, {"--context", "g"});
}

TEST_F(BadInput, TablesWithNothingToLearnFrom) {
  expect_table_refused(write("one.csv", "a,b,g\n1,2,x\n"),
                       {"expected at least 2 rows, found 1"});
  expect_table_refused(write("constant.csv", "a,b,g\n1,2,x\n3,2,x\n5,2,y\n"),
                       {"'b'", "expected values that differ", "2"});
  expect_table_refused(write("group.csv", "a,b,g\n1,2,x\n3,4,x\n5,6,x\n"),
                       {"'g'", "expected at least 2 groups", "'x'"});
  expect_table_refused(write("two.csv", "a,b,g\n1,2,x\n3,4,y\n"),
                       {"expected at least 2 training rows", "--valid"});
}

TEST_F(BadInput, ValidationTablesAreReadWithTheSameCare) {
  const std::string table = good_table();
  const std::string valid = write("valid.csv", "a,b\n1,2\n1,foo\n");
  expect_refused(
      Arguments{"fit", table, "--group", "g", "--valid", valid, "--out", path("run")},
      {valid + ":3:", "'b'", "'foo'"});
}

TEST_F(BadInput, RelationshipMatrices) {
  const std::string table = write("t.csv", "a,b\n1,2\n2,1\n4,7\n");
  const auto refused = [&](const std::string& matrix, const Arguments& mentioned) {
    const std::string file = write("g.txt", matrix);
    expect_refused(Arguments{"fit", table, "--relationship", file,
                             "--relationship-by-position", "--out", path("run")} +
                       small_fit(),
                   Arguments{file} + mentioned);
  };
  refused("1 .5 .2\n.5 1 .1\n", {"expected a square matrix", "2 x 3"});
  refused("1 .5 .2\n.4 1 .1\n.2 .1 1\n",
          {"expected a symmetric matrix", "row 2, column 1", "row 1, column 2"});
  refused("1 .9 -.9\n.9 1 .9\n-.9 .9 1\n",
          {"expected a positive semidefinite matrix", "eigenvalue -0.8"});
  refused("1 .5\n.5 1\n", {"expected a 3 x 3 matrix", "2 x 2"});
  refused("1 x .2\n.5 1 .1\n.2 .1 1\n",
          {":1:", "column 2", "expected a number", "'x'"});
}

TEST_F(BadInput, OptionsOfFit) {
  const std::string table = good_table();
  const Arguments fit = {"fit", table, "--out", path("run")};
  const Arguments by_group = fit + Arguments{"--group", "g"};
  expect_refused(fit, {"expected a dependence", "--group", "neither"});
  expect_refused(by_group + Arguments{"--independent"},
                 {"expected a dependence", "both"});
  expect_refused(by_group + Arguments{"--schedule", "grid", "--grid", "0.5,1"},
                 {"--grid", "expected a number", "'1'"});
  expect_refused(by_group + Arguments{"--epochs", "many"},
                 {"--epochs", "expected an integer", "'many'"});
  expect_refused(by_group + Arguments{"--learning-rate", "nan"},
                 {"--learning-rate", "'nan'"});
  expect_refused(by_group + Arguments{"--seed", "-1"}, {"--seed", "'-1'"});
  expect_refused(by_group + Arguments{"--speed", "3"}, {"--speed"});
  expect_refused({"fit", "--resume", path("none")}, {path("none"), "no run.json"});
}

TEST_F(BadInput, OptionsOfTheOtherVerbs) {
  const auto& files = SharedFiles::get();
  const std::string test = files.blocks + "/test.csv";
  const Arguments sample = {"sample", files.blocks_run, "--out", path("s.csv")};
  expect_refused(sample + Arguments{"--rows", "0"}, {"--rows", "from 1 to", "'0'"});
  expect_refused(sample + Arguments{"--rows", "ten"}, {"--rows", "'ten'"});
  expect_refused(sample, {"--rows"});
  expect_refused(sample + Arguments{"--block-sizes", "3,0"}, {"--block-sizes", "'0'"});
  expect_refused({"sample", files.relatives_run, "--given", test, "--rows", "2",
                  "--out", path("s.csv")},
                 {"--given", "--group", "--relationship"});
  expect_refused(sample + Arguments{"--rows", "2", "--given", test}, {test, "'group'"});
  expect_refused(sample + Arguments{"--rows", "2", "--group", "group"},
                 {"--for TABLE"});
  expect_refused({"evaluate", files.blocks_run, good_table()}, {"good.csv", "'x1'"});
  expect_refused({"evaluate", files.blocks_run, files.blocks + "/train.csv", "--group",
                  "group", "--parameter", "1"},
                 {"--parameter", "[0, 1)"});
  expect_refused({"simulate", "--rows", "0", "--out", path("sim")}, {"--rows", "'0'"});
}

TEST_F(BadInput, ARowBeyondAllNumbersIsANumericalFailureThatNamesIt) {
  const auto& files = SharedFiles::get();
  const std::string table = write("far.csv", "x1,x2\n0,0\n0,1.7e308\n");
  const Outcome evaluated = run({"evaluate", files.blocks_run, table});
  EXPECT_EQ(evaluated.exit_code, 1);
  expect_one_error_line(evaluated, {"row 2"});
  const Outcome transformed =
      run({"transform", files.blocks_run, table, "--out", path("u.csv")});
  EXPECT_EQ(transformed.exit_code, 1);
  expect_one_error_line(transformed, {table + ":3"});
  EXPECT_FALSE(std::filesystem::exists(path("u.csv")));
}

}  // namespace
}  // namespace kinflow::cli
