// P-values below the smallest number, through the real binary.
#include <fmt/format.h>

#include "gwas_cohort.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow::cli {
namespace {

/// Two variants, among others, that nearly determine a trait, the second one more; they
/// are alike.
class SmallP : public testing::Test {
 protected:
  SmallP() {
    auto content = random_content(500, 60, 12);
    Random random(4);
    for (auto& row : content.counts) {
      for (auto& count : row) count = static_cast<std::int8_t>(random.below(3));
    }
    content.counts[20] = content.counts[21];
    content.counts[20][3] = content.counts[20][3] == 2 ? 1 : 2;
    std::string pheno = "IID\ty\n";
    for (std::size_t i = 0; i < 500; ++i) {
      pheno +=
          fmt::format("I{}\t{}\n", i, content.counts[21][i] + 0.003 * random.normal());
    }
    folder_.write("p.tsv", pheno);
    bfile_ = write_bed(folder_, "t", content);
    run_well({"gwas", "--bfile", bfile_, "--pheno", path("p.tsv"), "--transform",
              "none", "--test", "wald", "--single", "--loco", "--out", path("o")});
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  TemporaryFolder folder_;
  std::string bfile_;
};

TEST_F(SmallP, HaveLogarithmsThatOrderThem) {
  for (const std::string set : {"o", "o.single"}) {
    const auto rows = associations(path(set + ".assoc.tsv"));
    EXPECT_GT(rows[21].log10_p, rows[20].log10_p);
    for (const auto& row : rows) {
      if (row.p > 1e-300) {
        EXPECT_NEAR(row.log10_p, -std::log10(row.p), 1e-5);
      }
    }
    const auto loci = rows_of(path(set + ".loci.tsv"));
    ASSERT_GT(loci.size(), 1U);
    EXPECT_EQ(loci[0][7], "LOG10P");
    EXPECT_EQ(loci[1][1], "rs21");
    run_well({"clump", path(set + ".assoc.tsv"), "--bfile", bfile_, "--overwrite",
              "--out", path("c")});
    EXPECT_EQ(content_of(path("c.loci.tsv")), content_of(path(set + ".loci.tsv")));
  }
  // Normal scores of ranks are not determined as well.
  const auto smallest = associations(path("o.assoc.tsv"))[21];
  EXPECT_EQ(smallest.p, 0);
  EXPECT_GT(smallest.log10_p, 400);
  const auto index = rows_of(path("o.loci.tsv"))[1];
  EXPECT_EQ(index[6], "0");
  EXPECT_EQ(std::stod(index[7]), smallest.log10_p);
  EXPECT_NE(content_of(path("o.log")).find(format_p(smallest.log10_p)),
            std::string::npos);
}

TEST_F(SmallP, AreClumpedFromTablesOfRegenieAndPlink) {
  for (const std::string name : {"LOG10P", "LOG10_P"}) {
    std::string table = "CHROM ID " + name + "\n";
    for (const auto& row : associations(path("o.assoc.tsv"))) {
      table += fmt::format("{} {} {}\n", row.chromosome, row.id, row.log10_p);
    }
    folder_.write("r.txt", table);
    const auto out = run_well(
        {"clump", path("r.txt"), "--bfile", bfile_, "--overwrite", "--out", path("c")});
    EXPECT_EQ(content_of(path("c.loci.tsv")), content_of(path("o.loci.tsv")));
    const auto index = rows_of(path("c.loci.tsv"))[1];
    EXPECT_NE(out.find(format_p(std::stod(index[7]))), std::string::npos) << out;
  }
}

TEST_F(SmallP, OfZeroAloneAreWarnedOf) {
  folder_.write("z.txt", "ID P\nrs20 0\nrs21 0\nrs30 0.5\n");
  const auto outcome = run(
      {"clump", path("z.txt"), "--bfile", bfile_, "--overwrite", "--out", path("c")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("2 p-values of 0"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("LOG10P"), std::string::npos) << outcome.err;
}

TEST_F(SmallP, AndOtherSignsAreRefused) {
  folder_.write("n.txt", "ID LOG10P\nrs20 -12\n");
  expect_refusal(
      folder_,
      {"clump", path("n.txt"), "--bfile", bfile_, "--overwrite", "--out", path("c")},
      {"n.txt:2", "-log10", "'-12'"});
  folder_.write("n.txt", "ID P LOG10P\nrs20 0.001 30\n");
  expect_refusal(
      folder_,
      {"clump", path("n.txt"), "--bfile", bfile_, "--overwrite", "--out", path("c")},
      {"n.txt:2", "-log10 of the p-value 0.001", "'30'"});
}

}  // namespace
}  // namespace kinflow::cli
