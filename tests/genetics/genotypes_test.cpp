// Readers of bed, bim and fam files.
#include "kinflow/genetics/genotypes.h"

#include <gtest/gtest.h>

#include <thread>

#include "kinflow/genetics/chromosomes.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

using testing::Test;

TEST(Genotypes, AreWhatWasWrittenForEveryNumberOfPeople) {
  const TemporaryFolder folder;
  for (const int people : {1, 2, 3, 4, 5, 7, 8, 101}) {
    SCOPED_TRACE(people);
    const auto content = random_content(people, 20, 3);
    const Genotypes genotypes(write_bed(folder, "t", content));
    ASSERT_EQ(genotypes.variants().size(), 20U);
    ASSERT_EQ(genotypes.people().size(), static_cast<std::size_t>(people));
    std::vector<std::int8_t> counts(static_cast<std::size_t>(people));
    for (std::int64_t v = 0; v < 20; ++v) {
      genotypes.read(v, all_people(genotypes), counts.data());
      EXPECT_EQ(counts, content.counts[static_cast<std::size_t>(v)]);
    }
  }
}

TEST(Genotypes, OfChosenPeopleComeInTheOrderAsked) {
  const TemporaryFolder folder;
  const auto content = random_content(30, 5, 4);
  const Genotypes genotypes(write_bed(folder, "t", content));
  auto everyone_reordered = all_people(genotypes);
  std::swap(everyone_reordered[3], everyone_reordered[20]);
  const std::vector<std::vector<std::int64_t>> choices = {
      {29, 0, 7, 7}, {}, everyone_reordered};
  for (const auto& chosen : choices) {
    std::vector<std::int8_t> counts(chosen.size());
    genotypes.read(2, chosen, counts.data());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      EXPECT_EQ(counts[i], content.counts[2][static_cast<std::size_t>(chosen[i])]);
    }
  }
}

TEST(Genotypes, HaveTheLinesOfTheOtherFiles) {
  const TemporaryFolder folder;
  const auto content = random_content(3, 1, 5);
  write_bed(folder, "t", content);
  folder.write("t.bim", "  chrX  rs1 1.5 77  A,T  <DEL>\r\n\n");
  folder.write("t.fam", "0 a 0 0 1 NA\nf b p 0 2 -9\nf c p q other 3\n");
  const Genotypes genotypes(folder.path("t"));
  const Variant& variant = genotypes.variants()[0];
  EXPECT_EQ(variant.chromosome, "chrX");
  EXPECT_EQ(variant.id, "rs1");
  EXPECT_EQ(variant.centimorgans, 1.5);
  EXPECT_EQ(variant.position, 77);
  EXPECT_EQ(variant.a1, "A,T");
  EXPECT_EQ(variant.a2, "<DEL>");
  const auto& people = genotypes.people();
  EXPECT_EQ(people[0].id, (SampleId{"", "a"}));
  EXPECT_EQ(people[1].father, "p");
  EXPECT_EQ(people[1].mother, "");
  EXPECT_EQ(people[0].sex, 1);
  EXPECT_EQ(people[1].sex, 2);
  EXPECT_EQ(people[2].sex, 0);
  EXPECT_TRUE(people[0].is_founder());
  EXPECT_FALSE(people[1].is_founder());
}

TEST(Genotypes, CanBeReadByThreadsAtTheSameTime) {
  const TemporaryFolder folder;
  const auto content = random_content(57, 40, 6);
  const Genotypes genotypes(write_bed(folder, "t", content));
  std::vector<std::vector<std::int8_t>> read(40, std::vector<std::int8_t>(57));
  {
    std::vector<std::jthread> threads;
    for (std::size_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (std::size_t v = first; v < 40; v += 4) {
          genotypes.read_all(static_cast<std::int64_t>(v), read[v].data());
        }
      });
    }
  }
  EXPECT_EQ(read, content.counts);
}

/// Good files of 10 people and 3 variants (12 bytes of .bed), one of which each test
/// spoils.
class BadGenotypes : public Test {
 protected:
  void SetUp() override {
    content_ = random_content(10, 3, 7);
    write_bed(folder_, "t", content_);
  }
  std::string error() const {
    return input_error_of([&] { Genotypes(folder_.path("t")); });
  }
  void expect_error(const std::string& file, const std::string& message) const {
    EXPECT_EQ(error(), folder_.path(file) + message);
  }

  TemporaryFolder folder_;
  BedContent content_;
};

TEST_F(BadGenotypes, MissingFilesAreNamed) {
  for (const std::string file : {"t.bim", "t.fam", "t.bed"}) {
    write_bed(folder_, "t", content_);
    std::filesystem::remove(folder_.path(file));
    EXPECT_TRUE(error().starts_with(folder_.path(file) + ": cannot read")) << error();
  }
}

TEST_F(BadGenotypes, EmptyFilesAreRefused) {
  folder_.write("t.bed", "");
  expect_error("t.bed", ": expected genotypes, found an empty file");
  write_bed(folder_, "t", content_);
  folder_.write("t.bim", "\n");
  expect_error("t.bim", ": expected variants, found none");
  write_bed(folder_, "t", content_);
  folder_.write("t.fam", "");
  expect_error("t.fam", ": expected people, found none");
}

TEST_F(BadGenotypes, WrongMagicIsRefused) {
  folder_.write("t.bed", "abcdefghijkl");
  expect_error("t.bed",
               ": expected a .bed that starts with the bytes 6c 1b 01, found 61 62 63");
  folder_.write("t.bed", "\x6c");
  expect_error("t.bed",
               ": expected a .bed that starts with the bytes 6c 1b 01, found 6c");
}

TEST_F(BadGenotypes, OneRowForEachPersonIsRefused) {
  auto bytes = bed_bytes(content_);
  bytes[2] = 0;
  folder_.write("t.bed", bytes);
  expect_error(
      "t.bed",
      ": expected one row for each variant (third byte 01), found one for each "
      "person (00); plink1.9 --make-bed turns the file");
  bytes[2] = 7;
  folder_.write("t.bed", bytes);
  expect_error("t.bed", ": expected 01 as the third byte, found 07");
}

TEST_F(BadGenotypes, OtherSizesAreRefused) {
  const auto bytes = bed_bytes(content_);
  const std::string expected =
      ": expected 12 bytes, for the 3 variants of the .bim and the 10 people of the "
      ".fam, found ";
  folder_.write("t.bed", bytes.substr(0, 11));
  expect_error("t.bed", expected + "11");
  folder_.write("t.bed", bytes + "x");
  expect_error("t.bed", expected + "13");
}

TEST_F(BadGenotypes, BadLinesOfTheBimAreNamed) {
  const std::string good = "1 rs1 0 1 A G\n";
  folder_.write("t.bim", good + "1 rs2 0 2 A\n" + good);
  expect_error("t.bim",
               ":2: expected 6 columns (chromosome, id, centimorgans, position, allele "
               "1, allele 2), found 5");
  folder_.write("t.bim", good + good + "1 rs2 0 2 A G T\n");
  expect_error("t.bim",
               ":3: expected 6 columns (chromosome, id, centimorgans, position, allele "
               "1, allele 2), found 7");
  for (const std::string bad : {"1.5", "-3", "1e6", "99999999999999999999", "x"}) {
    folder_.write("t.bim", good + good + "1 rs2 0 " + bad + " A G\n");
    EXPECT_TRUE(error().starts_with(
        folder_.path("t.bim:3: expected a position that is an integer from 0, found ")))
        << error();
  }
  for (const std::string bad : {"nan", "inf", "x", "1,5"}) {
    folder_.write("t.bim", "1 rs2 " + bad + " 5 A G\n");
    expect_error("t.bim", ":1: expected centimorgans, found '" + bad + "'");
  }
}

TEST_F(BadGenotypes, BadLinesOfTheFamAreNamed) {
  folder_.write("t.fam", "f a 0 0 1 -9\nf b 0 0 1\n");
  expect_error("t.fam",
               ":2: expected 6 columns (family, individual, father, mother, sex, "
               "phenotype) or more, found 5");
  folder_.write("t.fam", "f a 0 0 1 -9 2\nf b 0 0 1 -9\n");
  expect_error("t.fam", ":2: expected 7 columns as in the first line, found 6");
  folder_.write("t.fam", "f a 0 0 1 -9\ng a 0 0 1 -9\nf a 0 0 1 -9\n");
  expect_error("t.fam",
               ": expected different ids, found 'f a' both as id 1 and as id 3");
}

TEST(Chromosomes, HavePlinksNumbers) {
  using enum ChromosomeKind;
  const auto expect = [](const char* name, int autosomes, Chromosome expected) {
    EXPECT_EQ(chromosome(name, autosomes), expected) << name;
  };
  expect("1", 22, {autosome, 1});
  expect("chr22", 22, {autosome, 22});
  expect("CHR7", 19, {autosome, 7});
  expect("23", 22, {x, 23});
  expect("X", 22, {x, 23});
  expect("chrX", 19, {x, 20});
  expect("20", 19, {x, 20});
  expect("y", 22, {y, 24});
  expect("XY", 22, {pseudoautosomal, 25});
  expect("PAR1", 22, {pseudoautosomal, 25});
  expect("MT", 22, {mitochondrial, 26});
  expect("chrM", 19, {mitochondrial, 23});
  for (const char* name : {"0", "27", "-1", "", "chr", "1a", "contig5", "+3"}) {
    expect(name, 22, {unplaced, 0});
  }
  EXPECT_TRUE(is_autosomal("chr19", 19));
  EXPECT_FALSE(is_autosomal("X", 19));
}

}  // namespace
}  // namespace kinflow
