// Files made by plink and GEMMA themselves, where these tools are installed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "kinflow/core/random.h"
#include "kinflow/data/check_relationship.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/write_relationship.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

constexpr int kPeople = 60, kVariants = 200;

/// Genotypes of unrelated people as plink's text files, made binary by plink 1.9.
class PartnerTools : public testing::Test {
 protected:
  void SetUp() override {
    if (!has("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
    Random random(5);
    std::string people, variants;
    for (int i = 0; i < kPeople; ++i) {
      people += fmt::format("F{} I{} 0 0 1 {}.5", i / 2, i, i % 7);
      for (int j = 0; j < 2 * kVariants; ++j) {
        people += random.below(2) == 0 ? " A" : " G";
      }
      people += "\n";
    }
    for (int j = 0; j < kVariants; ++j) {
      variants += fmt::format("1 rs{} 0 {}\n", j, j + 1);
    }
    folder_.write("t.ped", people);
    folder_.write("t.map", variants);
    ASSERT_TRUE(run("plink1.9 --file t --make-bed --out t"));
    ASSERT_TRUE(run("plink1.9 --bfile t --make-rel bin --out truth"));
    truth_ = read_relationship(path("truth.rel.bin"));
    ASSERT_EQ(truth_.rows, kPeople);
    ASSERT_EQ(truth_.ids[3], (SampleId{"F1", "I3"}));
  }

  static bool has(const std::string& tool) {
    return std::system(("command -v " + tool + " > /dev/null").c_str()) == 0;
  }
  bool run(const std::string& command) const {
    return std::system(
               ("cd " + folder_.path() + " && " + command + " > /dev/null 2> /dev/null")
                   .c_str()) == 0;
  }
  std::string path(const std::string& name) const { return folder_.path(name); }

  static void expect_same(const RelationshipFile& left, const RelationshipFile& right,
                          double tolerance) {
    ASSERT_EQ(left.rows, right.rows);
    EXPECT_EQ(left.ids, right.ids);
    for (std::int64_t i = 0; i < left.rows; ++i) {
      for (std::int64_t j = 0; j < left.rows; ++j) {
        ASSERT_NEAR(value_at(left, i, j), value_at(right, i, j), tolerance);
      }
    }
  }

  TemporaryFolder folder_;
  RelationshipFile truth_;
};

TEST_F(PartnerTools, EveryFormOfPlinksMatrixIsTheSame) {
  for (const std::string form : {"", "square", "square0", "gz", "bin triangle",
                                 "bin square0", "bin4", "bin4 triangle"}) {
    SCOPED_TRACE(form);
    ASSERT_TRUE(run("plink1.9 --bfile t --make-rel " + form + " --out a"));
    const std::string name = form.starts_with("bin") ? "a.rel.bin"
                             : form == "gz"          ? "a.rel.gz"
                                                     : "a.rel";
    expect_same(read_relationship(path(name)), truth_,
                form.starts_with("bin") ? 1e-6 : 1e-5);
  }
}

TEST_F(PartnerTools, PlinksGctaFilesAreTheSame) {
  ASSERT_TRUE(run("plink1.9 --bfile t --make-grm-bin --out a"));
  const auto binary = read_relationship(path("a"));
  expect_same(binary, truth_, 1e-6);
  EXPECT_EQ(binary.variants, kVariants);
  ASSERT_TRUE(run("plink1.9 --bfile t --make-grm-gz --out b"));
  const auto list = read_relationship(path("b.grm.gz"));
  expect_same(list, truth_, 1e-5);
  EXPECT_EQ(list.variants, kVariants);
}

TEST_F(PartnerTools, PlinkReadsWhatIsWritten) {
  write_relationship(path("ours.grm.bin"), truth_);
  ASSERT_TRUE(run("plink1.9 --grm-bin ours --rel-cutoff 0.9 --out kept"));
  EXPECT_EQ(read_sample_ids(path("kept.grm.id")).size(), kPeople);
  write_relationship(path("ours.grm.gz"), truth_);
  ASSERT_TRUE(run("plink1.9 --grm-gz ours --rel-cutoff 0.9 --out kept2"));
  EXPECT_EQ(read_sample_ids(path("kept2.grm.id")).size(), kPeople);
}

TEST_F(PartnerTools, Plink2sKinshipsAreTheSameInEveryForm) {
  if (!has("plink2")) GTEST_SKIP() << "plink2 is not installed";
  ASSERT_TRUE(run("plink2 --bfile t --make-king square --out truth"));
  const auto kinship = read_relationship(path("truth.king"));
  EXPECT_EQ(mean_diagonal(kinship), 0.5);
  for (const std::string form :
       {"triangle", "square0", "bin", "bin4", "bin triangle"}) {
    SCOPED_TRACE(form);
    ASSERT_TRUE(run("plink2 --bfile t --make-king " + form + " --out a"));
    expect_same(
        read_relationship(path(form.starts_with("bin") ? "a.king.bin" : "a.king")),
        kinship, 1e-5);
  }
  ASSERT_TRUE(run("plink2 --bfile t --make-king-table --out a"));
  expect_same(read_relationship(path("a.kin0"), {.ids = path("t.fam")}), kinship, 1e-5);
  ASSERT_TRUE(run("plink2 --bfile t --make-grm-bin --out b"));
  EXPECT_EQ(read_relationship(path("b")).ids, truth_.ids);
}

TEST_F(PartnerTools, GemmasMatrixTakesItsIdsFromTheFam) {
  if (!has("gemma")) GTEST_SKIP() << "gemma is not installed";
  ASSERT_TRUE(run("gemma -bfile t -gk 1 -o a"));
  const auto file = read_relationship(path("output/a.cXX.txt"), {.ids = path("t.fam")});
  EXPECT_EQ(file.ids, truth_.ids);
  const auto check = check_relationship(file);
  EXPECT_TRUE(check.errors.empty());
  // Centred: rows sum to 0.
  double sum = 0;
  visit_row(file, 0, [&](std::int64_t, double value) { sum += value; });
  EXPECT_NEAR(sum, 0, 1e-7);
}

}  // namespace
}  // namespace kinflow
