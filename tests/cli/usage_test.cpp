// Mistyped command lines: one plain line, with what may have been meant.
#include <cmath>

#include "run_binary.h"

namespace kinflow::cli {
namespace {

TEST(Usage, MistypedNamesGetASuggestion) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto train = files.blocks + "/train.csv";
  const auto out = folder.path("run");
  expect_refusal(
      folder, {"fit", train, "--gruop", "group", "--out", out},
      {"--gruop: expected an option of 'kinflow fit'", "did you mean '--group'?"});
  expect_refusal(folder, {"grm", "--bfle", "x", "--out", out},
                 {"--bfle:", "did you mean '--bfile'?"});
  expect_refusal(folder, {"evalute", "a", "b"}, {"did you mean 'evaluate'?"});
  expect_refusal(folder, {"relationship", "chek", "a"},
                 {"relationship: expected check or convert", "did you mean 'check'?"});
  expect_refusal(folder, {"relationship", "check", "a", "--jsn"},
                 {"'kinflow relationship check'", "did you mean '--json'?"});
  expect_refusal(folder, {"fit", train, "--group", "gruop", "--out", out},
                 {"no column 'gruop'", "did you mean 'group'?"});
  expect_refusal(folder, {"simulate", "--shape", "cresent", "--out", out},
                 {"--shape: expected abs, crescent, crescent-cubed, sign or sine-wave, "
                  "found 'cresent'; did you mean 'crescent'?"});
  // Nothing is near to this.
  const auto outcome = run({"inspect", files.blocks_run, "--zzzzzzzz"});
  expect_one_error_line(outcome,
                        {"--zzzzzzzz: expected an option of 'kinflow inspect'"});
  EXPECT_EQ(outcome.err.find("did you mean"), std::string::npos);
}

TEST(Usage, MessagesOfTheParserArePlain) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto run = files.blocks_run;
  const auto out = folder.path("s.csv");
  expect_refusal(folder, {"sample", run, "--out", out, "--rows"},
                 {"--rows: expected an integer from 1 to 1000000000, found no value"});
  expect_refusal(folder, {"sample", run, "--out", out, "--rows", "x"},
                 {"--rows: expected an integer from 1 to 1000000000, found 'x'"});
  expect_refusal(folder, {"sample", run, "--rows", "1", "--out"},
                 {"--out: expected a value, found none"});
  expect_refusal(folder, {"sample", run, "--rows", "1", "--rows", "2", "--out", out},
                 {"--rows: expected once, found 2 times"});
  expect_refusal(folder, {"evaluate", run}, {"evaluate: expected TABLE, found none"});
  expect_refusal(folder, {"evaluate", run, "a.csv", "b.csv"},
                 {"evaluate: expected RUN and TABLE alone", "found 'b.csv' as well"});
  expect_refusal(folder, {"grm", "--bfile", "x"}, {"grm: expected --out, found none"});
  expect_refusal(folder, {"relationship"},
                 {"relationship: expected check or convert, found none"});
  expect_refusal(folder, {"simulate", "--dependence", "--out", out},
                 {"--dependence: expected blocks, relationship or families, found"});
}

// A variable of a shell that is not set must not change what is computed.
TEST(Usage, EmptyValuesAreRefused) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto train = files.blocks + "/train.csv";
  const auto out = folder.path("out");
  const Arguments fit = {"fit", train, "--group", "group", "--out", out};
  for (const std::string option :
       {"--columns", "--context", "--valid", "--relationship", "--relationship-pcs"}) {
    expect_refusal(folder, fit + Arguments{option, ""},
                   {option + ": expected a value, found none"});
    expect_refusal(folder, fit + Arguments{option + "=", "--drop-missing"},
                   {option + ": expected a value, found none"});
  }
  expect_refusal(folder, fit + Arguments{"--epochs", ""},
                 {"--epochs: expected an integer from 1", "found no value"});
  for (const std::string option : {"--given", "--group", "--keep", "--time"}) {
    expect_refusal(folder, {"evaluate", files.blocks_run, train, option, ""},
                   {option + ": expected a value, found none"});
  }
  for (const std::string option :
       {"--covar", "--keep", "--remove", "--extract", "--grm", "--pheno-name"}) {
    expect_refusal(folder,
                   {"gwas", "--bfile", "b", "--pheno", "p", "--transform", "none",
                    "--out", out, option, ""},
                   {option + ": expected a value, found none"});
  }
  expect_refusal(folder, {"fit", "", "--independent", "--out", out},
                 {"fit: expected words, found an empty one"});
  expect_refusal(folder, {"relationship", "check", "a", "--ids", ""},
                 {"--ids: expected a value, found none"});
}

TEST(Usage, FlagsTakeNoValue) {
  const TemporaryFolder folder;
  const auto& files = SharedFiles::get();
  const auto test = files.blocks + "/test.csv";
  expect_refusal(folder, {"evaluate", files.blocks_run, test, "--json=3"},
                 {"--json: expected no value, found '3'"});
  expect_refusal(folder, {"evaluate", files.blocks_run, test, "--json=false"},
                 {"--json: expected no value, found 'false'"});
  expect_refusal(
      folder,
      {"fit", test, "--independent", "--no-standardize=0", "--out", folder.path("run")},
      {"--no-standardize: expected no value, found '0'"});
  expect_refusal(folder, {"relationship", "check", "a", "--json=true"},
                 {"--json: expected no value, found 'true'"});
}

TEST(Usage, OneIsSingular) {
  const TemporaryFolder folder;
  std::string rows = "g,x,y\n";
  for (int i = 0; i < 40; ++i) {
    rows += std::to_string(i / 2) + "," + std::to_string(std::sin(i)) + "," +
            std::to_string(std::sin(7 * i)) + "\n";
  }
  const auto train = folder.write("t.csv", rows + "3,NA,1\n");
  const auto valid = folder.write("v.csv", "x,y\n0.15,0.2\n");
  const auto outcome =
      run(Arguments{"fit", train, "--group", "g", "--correlation", "shared", "--valid",
                    valid, "--drop-missing", "--out", folder.path("run")} +
          small_fit());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("1 validation row, 1 dependence parameter\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("1 row with missing values left out"), std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace kinflow::cli
