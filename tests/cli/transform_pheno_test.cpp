// Latents as phenotypes for other tools, through the real binary.
#include <cmath>
#include <sstream>

#include "kinflow/genetics/people_tables.h"
#include "run_binary.h"
#include "tests/genetics/bed_files.h"

namespace kinflow::cli {
namespace {

constexpr int kPeople = 30;

/// Rows of the people 5 .. 34, of whom the last five are not in the genotypes, in
/// another order than theirs; every seventh has a missing value.
std::string table_of_people(const std::string& ids = "FID,IID") {
  std::string text = ids + ",x1,x2\n";
  for (int i = kPeople + 5; i-- > 5;) {
    text +=
        fmt::format("{}I{},{},{}\n", ids == "IID" ? "" : fmt::format("F{},", i / 5), i,
                    std::sin(i), i % 7 == 0 ? "NA" : std::to_string(std::cos(1.5 * i)));
  }
  return text;
}

std::vector<std::vector<std::string>> cells_of_file(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream file(content_of(path));
  for (std::string line; std::getline(file, line);) {
    rows.push_back(split_cells(line));
  }
  return rows;
}

class TransformPheno : public testing::Test {
 protected:
  Arguments transform(const std::string& table, const Arguments& more) const {
    return Arguments{"transform", SharedFiles::get().blocks_run, table} + more;
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  TemporaryFolder folder_;
  BedContent content_ = random_content(kPeople, 40, 3, {"1"});
  std::string genotypes_ = write_bed(folder_, "g", content_);
  std::string table_ = folder_.write("t.csv", table_of_people());
};

TEST_F(TransformPheno, HoldsTheLatentsOfTheTable) {
  run_well(transform(table_, {"--drop-missing", "--out", path("u.tsv"), "--keep",
                              "FID,IID", "--pheno-out", path("p")}));
  auto latents = cells_of_file(path("u.tsv"));
  const auto pheno = cells_of_file(path("p.pheno"));
  EXPECT_EQ(latents.size(), 1u + 30);
  // Rows without latents have their ids only, and no line in the other file.
  std::erase_if(latents, [](const auto& cells) { return cells.size() < 4; });
  ASSERT_EQ(pheno.size(), latents.size());
  EXPECT_EQ(pheno[0], (Arguments{"#FID", "IID", "z1", "z2"}));
  EXPECT_EQ(pheno.size(), 1u + 30 - 4);
  for (std::size_t i = 1; i < pheno.size(); ++i) {
    const auto& u = latents[i];
    EXPECT_EQ(pheno[i], (Arguments{u[2], u[3], u[0], u[1]}));
  }
  // In place of --out, and whatever the ids are called.
  const std::string others =
      folder_.write("o.csv", table_of_people("household,person"));
  run_well(transform(others, {"--drop-missing", "--id", "household,person",
                              "--pheno-out", path("q"), "--threads", "2"}));
  EXPECT_EQ(content_of(path("q.pheno")), content_of(path("p.pheno")));
  EXPECT_FALSE(std::filesystem::exists(path("q.gemma.txt")));
}

TEST_F(TransformPheno, IsReadBackForThePeopleOfTheGenotypes) {
  run_well(transform(table_, {"--drop-missing", "--pheno-out", path("p")}));
  const auto table = read_traits({.path = path("p.pheno")}, content_.people);
  EXPECT_EQ(table.rows, 26);
  EXPECT_EQ(table.unknown, 5);
  const std::string plain = folder_.write("i.csv", table_of_people("IID"));
  run_well(transform(plain, {"--drop-missing", "--pheno-out", path("i")}));
  EXPECT_EQ(cells_of_file(path("i.pheno"))[1][0], "0");
  const auto again = read_traits({.path = path("i.pheno")}, content_.people);
  EXPECT_EQ(again.has_row, table.has_row);
}

TEST_F(TransformPheno, GemmaGetsALineForEachPerson) {
  const Outcome outcome =
      run(transform(table_, {"--drop-missing", "--pheno-out", path("p"), "--gemma",
                             genotypes_ + ".fam"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("people of " + genotypes_ +
                             ".fam with a row in the table: 21 of 30"),
            std::string::npos)
      << outcome.err;
  const auto lines = cells_of_file(path("p.gemma.txt"));
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kPeople));
  std::map<std::string, Arguments> latents;
  for (const auto& row : cells_of_file(path("p.pheno"))) {
    latents[row[1]] = {row[2], row[3]};
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto found = latents.find(fmt::format("I{}", i));
    EXPECT_EQ(lines[i],
              found == latents.end() ? Arguments({"NA", "NA"}) : found->second);
  }
}

TEST_F(TransformPheno, Plink2ReadsAllValues) {
  if (!has_tool("plink2")) GTEST_SKIP() << "plink2 is not installed";
  run_well(transform(table_, {"--drop-missing", "--pheno-out", path("p")}));
  ASSERT_TRUE(
      run_in(folder_, "plink2 --bfile g --pheno p.pheno --make-just-psam --out o"));
  const std::string log = content_of(path("o.log"));
  EXPECT_NE(log.find("2 quantitative phenotypes loaded"), std::string::npos) << log;
  const auto ours = read_traits({.path = path("p.pheno")}, content_.people);
  const auto theirs =
      read_traits({.path = path("o.psam"), .columns = {"z1", "z2"}}, content_.people);
  ASSERT_EQ(ours.numbers.values.size(), theirs.numbers.values.size());
  int values = 0;
  for (std::size_t i = 0; i < ours.numbers.values.size(); ++i) {
    const double mine = ours.numbers.values[i], other = theirs.numbers.values[i];
    ASSERT_EQ(std::isnan(mine), std::isnan(other)) << i;
    if (std::isnan(mine)) continue;
    ++values;
    EXPECT_NEAR(mine, other, 1e-5 * (1 + std::abs(mine)));
  }
  EXPECT_EQ(values, 2 * 21);
}

TEST_F(TransformPheno, GemmaReadsItsFile) {
  if (!has_tool("gemma")) GTEST_SKIP() << "gemma is not installed";
  run_well(transform(table_, {"--drop-missing", "--pheno-out", path("p"), "--gemma",
                              genotypes_ + ".fam"}));
  ASSERT_TRUE(
      run_in(folder_, "gemma -bfile g -p p.gemma.txt -maf 0 -miss 1 -gk 1 -o o"));
  const std::string log = content_of(path("output/o.log.txt"));
  EXPECT_NE(log.find("number of total individuals = 30"), std::string::npos) << log;
  EXPECT_NE(log.find("number of analyzed individuals = 21"), std::string::npos) << log;
}

TEST_F(TransformPheno, MistakesAreTold) {
  const auto refuse = [&](const std::string& table, const Arguments& more,
                          const Arguments& mentioned) {
    expect_refusal(folder_, transform(table, more), mentioned);
  };
  const Arguments out = {"--pheno-out", path("p")};
  refuse(table_, {}, {"expected --out or --pheno-out, found neither"});
  refuse(table_, out,
         {table_ + ":", "column 'x2': expected a number, found a missing"});
  refuse(table_, {"--out", path("u.csv"), "--gemma", genotypes_ + ".fam"}, {"--gemma"});
  refuse(table_, out + Arguments{"--keep", "FID"}, {"--keep"});
  refuse(table_, out + Arguments{"--id", "IID,FID,x1"},
         {"--id: expected a column of individuals, or two", "found 3"});
  refuse(table_, out + Arguments{"--id", "name"}, {"no column 'name'"});
  refuse(table_, out + Arguments{"--gemma", path("no.fam")}, {path("no.fam")});
  refuse(folder_.write("plain.csv", "x1,x2\n1,2\n"), out,
         {"expected the columns FID and IID, or IID, for phenotypes, found 'x1, x2'"});
  const std::string twice =
      folder_.write("twice.csv", "FID,IID,x1,x2\nA,1,0,0\nA,2,0,0\nA,1,1,1\n");
  refuse(twice, out,
         {twice + ":4: expected every person once, found 'A 1' also in line 2"});
  refuse(folder_.write("blank.csv", "FID,IID,x1,x2\nA,1 2,0,0\n"), out,
         {"blank.csv:2: expected an id without blanks, found 'A 1 2'"});
  refuse(folder_.write("others.csv", "FID,IID,x1,x2\nA,1,0,0\n"),
         out + Arguments{"--gemma", genotypes_ + ".fam"},
         {"g.fam: expected people of the table, found none: the first id here is 'F0 "
          "I0', that of the table 'A 1'"});
  refuse(folder_.write("u.csv", "FID,IID,u1,u2\nA,1,0,0\n"),
         out + Arguments{"--inverse"},
         {"--pheno-out: expected a map to latents, found --inverse"});
  refuse(table_,
         {"--drop-missing", "--pheno-out", path("p"), "--gemma", genotypes_ + ".fam",
          "--out", path("p.gemma.txt")},
         {"--pheno-out: expected another file than --out"});
}

}  // namespace
}  // namespace kinflow::cli
