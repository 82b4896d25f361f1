// Loci from a table of association tests through the real binary.
#include <fmt/format.h>

#include "run_binary.h"
#include "tests/genetics/bed_files.h"

namespace kinflow::cli {
namespace {

/// Genotypes, and tests of which one is significant, beside a copy of its variant.
class Clump : public testing::Test {
 protected:
  Clump() {
    content_ = random_content(80, 30, 2, {"1", "2"});
    content_.counts[11] = content_.counts[10];
    write_bed(folder_, "t", content_);
    std::vector<double> p(30, 0.5);
    p[10] = 1e-12;
    p[11] = 1e-9;
    table_ = write_tests("t.assoc.tsv", p);
  }

  std::string write_tests(const std::string& name, const std::vector<double>& p) const {
    std::string text = "CHROM\tPOS\tID\tP\n";
    for (std::size_t i = 0; i < p.size(); ++i) {
      const auto& variant = content_.variants[i];
      text += fmt::format("{}\t{}\t{}\t{}\n", variant.chromosome, variant.position,
                          variant.id, p[i]);
    }
    return folder_.write(name, text);
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  Arguments clump(const Arguments& more = {}) const {
    return Arguments{"clump", table_, "--bfile", path("t"), "--out", path("o")} + more;
  }

  TemporaryFolder folder_;
  BedContent content_;
  std::string table_;
};

TEST_F(Clump, WritesLociAndReportsThem) {
  const std::string report = run_well(clump());
  for (const std::string text :
       {"30 rows, 30 of them with p-values", "over 64 of 80",
        "1 locus: p up to 5e-08, r2 above 0.1 within 250 kb", "rs10"}) {
    EXPECT_NE(report.find(text), std::string::npos) << text << " in\n" << report;
  }
  const std::string loci = content_of(path("o.loci.tsv"));
  EXPECT_EQ(
      loci.rfind(
          "LOCUS\tID\tCHROM\tPOS\tSTART\tEND\tP\tLOG10P\tN_SNPS\tTOTAL\tMEMBERS\n1\t"
          "rs10\t1\t201000\t201000\t221000\t1e-12\t12\t2\t",
          0),
      0u)
      << loci;
  EXPECT_NE(loci.find("\trs11\n"), std::string::npos) << loci;
}

TEST_F(Clump, NoLociAreAnEmptyTable) {
  const std::string report = run_well(clump({"--p1", "1e-20"}));
  EXPECT_NE(report.find("0 loci: p up to 1e-20"), std::string::npos) << report;
  EXPECT_EQ(content_of(path("o.loci.tsv")),
            "LOCUS\tID\tCHROM\tPOS\tSTART\tEND\tP\tLOG10P\tN_SNPS\tTOTAL\tMEMBERS\n");
}

TEST_F(Clump, VariantsThatAreNotThereAreWarnedOf) {
  folder_.write("more.tsv", content_of(table_) + "1\t5\trsA\t1e-9\n1\t6\trsB\t0.1\n");
  const Outcome outcome =
      run({"clump", path("more.tsv"), "--bfile", path("t"), "--out", path("o")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("1 variant with p-values up to 5e-08 not in"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("'rsA'"), std::string::npos) << outcome.err;
}

TEST_F(Clump, VariantsAtOtherPlacesAreWarnedOf) {
  EXPECT_EQ(run(clump()).err.find("warning"), std::string::npos);
  for (auto& variant : content_.variants) variant.position += 77;
  content_.variants[0].position -= 77;
  const auto other = write_tests("other.tsv", std::vector<double>(30, 0.5));
  const Outcome outcome =
      run({"clump", other, "--bfile", path("t"), "--out", path("p")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("29 variants at another place than in"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("'rs1' (1:"), std::string::npos) << outcome.err;
}

TEST_F(Clump, MistakesAreRefused) {
  expect_refusal(folder_, clump({"--p1", "0"}),
                 {"--p1: expected a number from 1e-300 to 1"});
  expect_refusal(folder_, clump({"--r2", "1"}),
                 {"--r2: expected a number from 0 to 0.999999"});
  expect_refusal(folder_, clump({"--kb", "-1"}), {"--kb"});
  expect_refusal(folder_, clump({"--p-field", "p_wald"}),
                 {"t.assoc.tsv:1", "'p_wald'", "found none"});
  expect_refusal(folder_,
                 {"clump", path("none.tsv"), "--bfile", path("t"), "--out", "o"},
                 {"none.tsv", "cannot read"});
  expect_refusal(folder_, {"clump", table_, "--bfile", path("none"), "--out", "o"},
                 {"none.bim"});
  folder_.write("bad.tsv", "ID P\nrs1 0.5\nrs2 2\n");
  expect_refusal(folder_,
                 {"clump", path("bad.tsv"), "--bfile", path("t"), "--out", path("o")},
                 {"bad.tsv:3", "p-value from 0 to 1", "'2'"});
  folder_.write("other.tsv", "ID P\nother 0.5\n");
  expect_refusal(folder_,
                 {"clump", path("other.tsv"), "--bfile", path("t"), "--out", path("o")},
                 {"other.tsv", "t.bim", "'other'"});
  expect_refusal(folder_,
                 {"clump", table_, "--bfile", path("t"), "--out", path("no/such/o")},
                 {"no/such/o.loci.tsv"});
  for (auto& person : content_.people) person.father = "someone";
  write_bed(folder_, "t", content_);
  expect_refusal(folder_, clump(), {"t.fam", "without parents", "--nonfounders"});
  run_well(clump({"--nonfounders"}));
}

TEST_F(Clump, DoesNotOverwriteItsInput) {
  folder_.write("o.loci.tsv", content_of(table_));
  expect_refusal(
      folder_, {"clump", path("o.loci.tsv"), "--bfile", path("t"), "--out", path("o")},
      {"--out"});
}

TEST_F(Clump, IsThatOfPlink) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  ASSERT_TRUE(run_in(folder_,
                     "plink1.9 --bfile t --clump t.assoc.tsv --clump-snp-field "
                     "ID --clump-p1 5e-8 --clump-r2 0.1 --out t"));
  run_well(clump());
  const std::string theirs = content_of(path("t.clumped"));
  EXPECT_NE(theirs.find(" rs10 "), std::string::npos) << theirs;
  EXPECT_NE(theirs.find(" rs11(1)\n"), std::string::npos) << theirs;
}

}  // namespace
}  // namespace kinflow::cli
