// Tables of association tests: what is written, what is read, and refused input.
#include "kinflow/genetics/association_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

Association first_row() {
  return {.chromosome = "1",
          .position = 12'345'678,
          .id = "rs1",
          .a1 = "A",
          .a2 = "G",
          .a1_frequency = 0.123456789,
          .people = 1416,
          .effects = {-0.5, 1.0 / 3},
          .standard_errors = {0.25, 1e-5},
          .chi_squared = 1392.75,
          .p = 1.2345678e-300,
          .log10_p = 299.90848489};
}

Association untested_row() {
  Association row = first_row();
  row.id = "rs2";
  row.effects = row.standard_errors = {Association::kUnknown, Association::kUnknown};
  row.chi_squared = row.p = row.log10_p = Association::kUnknown;
  return row;
}

std::string write(const std::string& path, const std::vector<Association>& rows) {
  AssociationWriter writer(path, {"HDL", "total cholesterol"});
  writer.append(format_associations(rows, 2));
  writer.finish();
  return path;
}

std::vector<Association> read(const std::string& path,
                              const AssociationFields& fields = {}) {
  AssociationReader reader(path, fields);
  std::vector<Association> rows;
  for (Association row; reader.next(row);) rows.push_back(row);
  return rows;
}

TEST(AssociationWriter, WritesColumnsInTheirOrder) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      content_of(write(folder.path("t.assoc.tsv"), {first_row(), untested_row()})),
      "CHROM\tPOS\tID\tA1\tA2\tA1_FREQ\tN\tBETA_HDL\tSE_HDL\t"
      "BETA_total_cholesterol\tSE_total_cholesterol\tCHISQ\tP\tLOG10P\n"
      "1\t12345678\trs1\tA\tG\t0.12345679\t1416\t-0.5\t0.25\t0.33333333\t1e-05\t"
      "1392.75\t1.2345678e-300\t299.90848\n"
      "1\t12345678\trs2\tA\tG\t0.12345679\t1416\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n");
}

TEST(AssociationWriter, TheFileAppearsWhenItIsFinished) {
  const TemporaryFolder folder;
  {
    AssociationWriter writer(folder.path("t.assoc.tsv"), {});
    writer.append("1\t2\trs1\tA\tG\t0.5\t10\t1\t0.5\n");
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST(AssociationWriter, RefusesTraitsThatWouldShareAColumn) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      input_error_of([&] {
        AssociationWriter(folder.path("t.assoc.tsv"), {"a b", "a_b"});
      }),
      "[AssociationWriter] expected traits of different names, found 'a_b' twice");
  EXPECT_TRUE(folder.files().empty());
}

TEST(AssociationReader, ReadsWhatIsWritten) {
  const TemporaryFolder folder;
  for (const std::string name : {"t.assoc.tsv", "t.assoc.tsv.gz"}) {
    const std::string path = write(folder.path(name), {first_row(), untested_row()});
    const auto rows = read(path);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].chromosome, "1");
    EXPECT_EQ(rows[0].position, 12'345'678);
    EXPECT_EQ(rows[0].id, "rs1");
    EXPECT_EQ(rows[0].a1, "A");
    EXPECT_EQ(rows[0].a2, "G");
    EXPECT_NEAR(rows[0].a1_frequency, 0.123456789, 1e-8);
    EXPECT_EQ(rows[0].people, 1416);
    ASSERT_EQ(rows[0].effects.size(), 2u);
    EXPECT_EQ(rows[0].effects[0], -0.5);
    EXPECT_EQ(rows[0].standard_errors[1], 1e-5);
    EXPECT_EQ(rows[0].chi_squared, 1392.75);
    EXPECT_EQ(rows[0].p, 1.2345678e-300);
    EXPECT_EQ(rows[0].log10_p, 299.90848);
    EXPECT_TRUE(std::isnan(rows[1].log10_p));
    EXPECT_TRUE(std::isnan(rows[1].p));
    EXPECT_TRUE(std::isnan(rows[1].effects[1]));
    const AssociationReader reader(path);
    EXPECT_EQ(reader.traits(), (std::vector<std::string>{"HDL", "total_cholesterol"}));
    EXPECT_TRUE(reader.has_places());
  }
  EXPECT_EQ(content_of(folder.path("t.assoc.tsv.gz")).substr(0, 2), "\x1f\x8b");
}

TEST(AssociationReader, KnowsTheNamesOfPlinkAndGemma) {
  const TemporaryFolder folder;
  for (const std::string table :
       {" CHR  SNP   BP  A1   TEST NMISS  BETA  STAT   P \n"
        "   7  rs1  99   A    ADD   500   0.1   2.0  0.25 \n",
        "#CHROM\tPOS\tID\tREF\tALT\tA1\tOBS_CT\tP\n7\t99\trs1\tG\tA\tA\t500\t0.25\n",
        "chr,rs,ps,allele1,n,p_wald,p_score\n7,rs1,99,A,500,0.5,0.25\n",
        "PVAL SNP CHR POS A1 N\r\n0.25 rs1 7 99 A 500\r\n"}) {
    SCOPED_TRACE(table);
    const auto rows = read(folder.write("t.txt", table));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].chromosome, "7");
    EXPECT_EQ(rows[0].position, 99);
    EXPECT_EQ(rows[0].id, "rs1");
    EXPECT_EQ(rows[0].a1, "A");
    EXPECT_EQ(rows[0].people, 500);
    EXPECT_EQ(rows[0].p, 0.25);
    EXPECT_TRUE(rows[0].effects.empty());
  }
}

TEST(AssociationReader, TakesLogarithmsOfPValues) {
  const TemporaryFolder folder;
  for (const std::string table :
       {"ID LOG10P\nrs1 1234.5\n", "ID LOG10_P\nrs1 1234.5\n",
        "ID neg_log10_p\nrs1 1234.5\n", "ID P LOG10P\nrs1 0 1234.5\n",
        "ID P LOG10P\nrs1 NA 1234.5\n"}) {
    const auto rows = read(folder.write("t.txt", table));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].log10_p, 1234.5) << table;
    EXPECT_EQ(rows[0].p, 0) << table;
  }
  const auto path = folder.write("t.txt", "ID P LOG10P other\nrs1 0.01 2 0.25\n");
  EXPECT_EQ(read(path, {.id = "", .p = "LOG10P"})[0].log10_p, 2);
  EXPECT_EQ(read(path, {.id = "", .p = "other"})[0].log10_p, -std::log10(0.25));
  EXPECT_TRUE(std::isinf(read(folder.write("t.txt", "ID P\nrs1 0\n"))[0].log10_p));
}

TEST(AssociationReader, TakesTheColumnsThatItIsTold) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("t.txt", "SNP name P p_meta\nrs1 first 0.5 1e-9\n");
  const auto rows = read(path, {.id = "name", .p = "p_meta"});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, "first");
  EXPECT_EQ(rows[0].p, 1e-9);
  EXPECT_EQ(input_error_of([&] { read(path, {.id = "", .p = "p_other"}); }),
            path + ":1: expected a column 'p_other' of p-values, found none");
}

TEST(AssociationReader, MistakesHaveAPlace) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& table) {
    return input_error_of([&] { read(folder.write("t", table)); });
  };
  const std::string path = folder.path("t");
  EXPECT_EQ(error_of(""), path + ": expected a header and rows, found an empty file");
  EXPECT_EQ(error_of("CHR BP P\n"),
            path + ":1: expected a column of variant ids (ID, SNP or RS), found none");
  EXPECT_EQ(error_of("SNP BP\n"), path +
                                      ":1: expected a column of p-values (P, "
                                      "P_SCORE, P_WALD, P_LRT or PVAL) or of -log10 of "
                                      "p-values (LOG10P, LOG10_P or NEG_LOG10_P), "
                                      "found none");
  EXPECT_EQ(error_of("SNP P P\n"), path + ":1: expected one column 'P', found two");
  EXPECT_EQ(error_of("SNP P BETA_a BETA_a\n"),
            path + ":1: expected one column 'BETA_a', found two");
  EXPECT_EQ(error_of("SNP P\nrs1 0.5\nrs2\n"),
            path + ":3: expected 2 cells as in the header, found 1");
  EXPECT_EQ(error_of("SNP\tP\nrs1\tsmall\n"),
            path + ":2: expected a number or NA in column 'P', found 'small'");
  EXPECT_EQ(error_of("SNP P\nrs1 inf\n"),
            path + ":2: expected a number or NA in column 'P', found 'inf'");
  EXPECT_EQ(error_of("SNP P\nrs1 1.5\n"),
            path + ":2: expected a p-value from 0 to 1 in column 'P', found '1.5'");
  EXPECT_EQ(error_of("SNP P\nrs1 -0.1\n"),
            path + ":2: expected a p-value from 0 to 1 in column 'P', found '-0.1'");
  EXPECT_EQ(error_of("SNP LOG10P\nrs1 -3\n"),
            path +
                ":2: expected -log10 of a p-value, which is not negative, in column "
                "'LOG10P', found '-3'");
  EXPECT_EQ(error_of("SNP P LOG10P\nrs1 0.01 3\n"),
            path +
                ":2: expected -log10 of the p-value 0.01 beside it in column 'LOG10P', "
                "found '3'");
  EXPECT_EQ(error_of("SNP BP P\nrs1 1e6 0.5\n"),
            path + ":2: expected a whole number from 0 in column 'BP', found '1e6'");
  EXPECT_NE(input_error_of([&] { read(folder.path("none")); }).find("cannot read"),
            std::string::npos);
}

TEST(AssociationFileAgainstPlink, PlinkReadsWhatIsWritten) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  const TemporaryFolder folder;
  const auto content = random_content(60, 20, 4, {"1"});
  write_bed(folder, "t", content);
  std::vector<Association> rows;
  for (const auto& variant : content.variants) {
    Association row = first_row();
    row.id = variant.id;
    row.p = rows.empty() ? 1e-300 : 0.5;
    row.log10_p = -std::log10(row.p);
    rows.push_back(row);
  }
  for (const std::string name : {"t.assoc.tsv", "t.assoc.tsv.gz"}) {
    write(folder.path(name), rows);
    ASSERT_TRUE(run_in(folder, "plink1.9 --bfile t --clump-snp-field ID --clump " +
                                   name + " --out " + name));
    EXPECT_NE(content_of(folder.path(name + ".clumped")).find("1e-300"),
              std::string::npos);
  }
}

TEST(AssociationFileAgainstPlink, PlinksReportsAreRead) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  const TemporaryFolder folder;
  const auto content = random_content(60, 20, 4, {"1"});
  write_bed(folder, "t", content);
  std::string phenotypes = "FID IID y\n";
  Random random(5);
  for (const auto& person : content.people) {
    phenotypes += fmt::format("{} {} {}\n", person.id.family, person.id.individual,
                              random.normal());
  }
  folder.write("t.pheno", phenotypes);
  ASSERT_TRUE(run_in(folder, "plink1.9 --bfile t --pheno t.pheno --assoc --out t"));
  const auto rows = read(folder.path("t.qassoc"));
  ASSERT_EQ(rows.size(), content.variants.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].id, content.variants[i].id);
    EXPECT_EQ(rows[i].position, content.variants[i].position);
  }
  if (!has_tool("plink2")) return;
  ASSERT_TRUE(run_in(folder,
                     "plink2 --bfile t --pheno t.pheno --glm allow-no-covars "
                     "--out t"));
  const auto newer = read(folder.path("t.y.glm.linear"));
  ASSERT_EQ(newer.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::isnan(rows[i].p)) continue;
    EXPECT_NEAR(newer[i].p, rows[i].p, 1e-3 * rows[i].p);
  }
}

}  // namespace
}  // namespace kinflow
