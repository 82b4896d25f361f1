// Relationship matrices from genotypes through the real binary.
#include <cmath>

#include "kinflow/data/read_relationship.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/genetics/variant_filters.h"
#include "run_binary.h"
#include "tests/genetics/bed_files.h"

namespace kinflow::cli {
namespace {

using Kind = SnpRelationshipKind;

/// 60 people and 300 variants of chromosomes 1, 2 and X.
class Grm : public testing::Test {
 protected:
  Grm()
      : content_(random_content(60, 300, 40, {"1", "chr2", "X"})),
        prefix_(write_bed(folder_, "t", content_)),
        genotypes_(prefix_) {}

  std::string path(const std::string& name) const { return folder_.path(name); }
  RelationshipFile expected(const VariantFilters& filters, Kind kind) const {
    const auto people = all_people(genotypes_);
    return snp_relationship(genotypes_, people,
                            choose_variants(genotypes_, people, filters).rows,
                            {.kind = kind});
  }
  static void expect_same(const RelationshipFile& left, const RelationshipFile& right) {
    ASSERT_EQ(left.rows, right.rows);
    EXPECT_EQ(left.ids, right.ids);
    for (std::size_t i = 0; i < left.dense.size(); ++i) {
      ASSERT_NEAR(left.dense[i], right.dense[i], 1e-6 * (1 + std::abs(right.dense[i])));
    }
  }

  TemporaryFolder folder_;
  BedContent content_;
  std::string prefix_;
  Genotypes genotypes_;
};

TEST_F(Grm, WritesTheMatrixOfTheVariantsThatPass) {
  const auto out =
      run_well({"grm", "--bfile", prefix_, "--maf", "0.05", "--geno", "0.1", "--hwe",
                "0.001", "--kind", "standardized", "--out", path("own")});
  expect_same(read_relationship(path("own")), expected({.only_autosomes = true,
                                                        .largest_missing_share = 0.1,
                                                        .least_hardy_weinberg_p = 0.001,
                                                        .least_minor_frequency = 0.05},
                                                       Kind::standardized));
  for (const std::string text :
       {"people in the files", "variants in the files", "X, Y, MT and other names",
        "--geno 0.1", "--hwe 0.001", "--maf 0.05", "mean diagonal"}) {
    EXPECT_NE(out.find(text), std::string::npos) << text << "\n" << out;
  }
  EXPECT_EQ(content_of(path("own.grm.N.bin")).size(), 4U * 60 * 61 / 2);
}

TEST_F(Grm, AByteOrderMarkBelongsToNobodysId) {
  std::string people;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto& id = content_.people[i].id;
    people += id.family + " " + id.individual + "\n";
  }
  const auto matrix = [&](const std::string& keep) {
    run_well({"grm", "--bfile", prefix_, "--keep", keep, "--out", path("own"),
              "--overwrite"});
    return read_relationship(path("own"));
  };
  const auto plain = matrix(folder_.write("plain", people));
  const auto marked = matrix(folder_.write("marked", "\xef\xbb\xbf" + people));
  EXPECT_EQ(plain.rows, 20);
  expect_same(marked, plain);
}

TEST_F(Grm, WritesGemmasFiles) {
  const Arguments base = {"grm", "--bfile", prefix_, "--chr",
                          "1-2", "--gemma", "--out", path("own")};
  run_well(base);
  run_well(base + Arguments{"--kind", "standardized"});
  const VariantFilters autosomes{.only_autosomes = true};
  expect_same(read_relationship(path("own.cXX.txt")),
              expected(autosomes, Kind::centered));
  expect_same(read_relationship(path("own.sXX.txt")),
              expected(autosomes, Kind::unit_variance));
  EXPECT_FALSE(std::filesystem::exists(path("own.grm.bin")));
}

TEST_F(Grm, LeavesOutOneChromosomeAtATime) {
  run_well({"grm", "--bfile", prefix_, "--loco", "--maf", "0.02", "--kind",
            "standardized", "--out", path("own")});
  expect_same(read_relationship(path("own.chr1")),
              expected({.chromosomes = {"2"}, .least_minor_frequency = 0.02},
                       Kind::standardized));
  expect_same(read_relationship(path("own.chr2")),
              expected({.chromosomes = {"1"}, .least_minor_frequency = 0.02},
                       Kind::standardized));
  EXPECT_FALSE(std::filesystem::exists(path("own.chrX.grm.bin")));
}

TEST_F(Grm, IsCenteredAsThatOfGwas) {
  run_well({"grm", "--bfile", prefix_, "--out", path("own")});
  expect_same(read_relationship(path("own")),
              expected({.only_autosomes = true}, Kind::centered));
  for (const std::string verb : {"grm", "gwas"}) {
    const auto help = run_well({verb, "--help"});
    EXPECT_NE(help.find("=centered"), std::string::npos) << help;
  }
}

TEST_F(Grm, RefusesBadInput) {
  expect_refusal(folder_,
                 {"grm", "--bfile", prefix_, "--chr", "X", "--out", path("own")},
                 {"t.bim", "X, Y, MT and other names removed 100"});
  const Arguments base = {"grm", "--bfile", prefix_, "--out", path("own")};
  expect_refusal(folder_, base + Arguments{"--maf", "0.7"}, {"--maf"});
  expect_refusal(folder_, base + Arguments{"--chr", "40"}, {"--chr", "'40'"});
  expect_refusal(folder_, base + Arguments{"--chr", "7"}, {"t.bim", "found none"});
  expect_refusal(folder_, base + Arguments{"--chr", "1", "--loco"},
                 {"t.bim", "several chromosomes"});
  expect_refusal(folder_, base + Arguments{"--keep", path("no")}, {path("no")});
  expect_refusal(folder_, {"grm", "--bfile", path("no"), "--out", path("own")},
                 {path("no.bim")});
  folder_.write("t.bed", bed_bytes(content_).substr(0, 100));
  expect_refusal(folder_, base, {"t.bed", "expected 4503 bytes", "found 100"});
}

}  // namespace
}  // namespace kinflow::cli
