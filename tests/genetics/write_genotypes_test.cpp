// plink's genotype files, byte by byte.
#include "kinflow/genetics/write_genotypes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

std::vector<Person> five_people() {
  return {{.id = {"F1", "a"}, .father = "", .mother = "", .sex = 1},
          {.id = {"F1", "b"}, .father = "", .mother = "", .sex = 2},
          {.id = {"F1", "c"}, .father = "a", .mother = "b", .sex = 0},
          {.id = {"", "d"}, .father = "", .mother = "", .sex = 1},
          {.id = {"", "e"}, .father = "", .mother = "", .sex = 2}};
}

std::vector<Variant> two_variants() {
  return {{"1", "rs1", 0, 100, "A", "G"}, {"X", "rs2", 1.5, 200, "T", "C"}};
}

void fill_two(std::int64_t variant, std::int8_t* counts) {
  const std::int8_t first[] = {0, 1, 2, kMissingGenotype, 1};
  const std::int8_t second[] = {2, 2, 0, 0, kMissingGenotype};
  std::copy_n(variant == 0 ? first : second, 5, counts);
}

TEST(WriteGenotypes, HasTheBytesOfPlink) {
  const TemporaryFolder folder;
  write_genotypes(folder.path("t"), two_variants(), five_people(), fill_two);
  // Codes 3 2 0 1 | 2 and 0 0 3 3 | 1, the first person in the lowest bits.
  EXPECT_EQ(content_of(folder.path("t.bed")),
            std::string("\x6c\x1b\x01\x4b\x02\xf0\x01", 7));
  EXPECT_EQ(content_of(folder.path("t.bim")),
            "1\trs1\t0\t100\tA\tG\nX\trs2\t1.5\t200\tT\tC\n");
  EXPECT_EQ(content_of(folder.path("t.fam")),
            "F1\ta\t0\t0\t1\t-9\nF1\tb\t0\t0\t2\t-9\nF1\tc\ta\tb\t0\t-9\n"
            "0\td\t0\t0\t1\t-9\n0\te\t0\t0\t2\t-9\n");
  EXPECT_EQ(folder.files().size(), 3u);
}

TEST(WriteGenotypes, ReadsBack) {
  const TemporaryFolder folder;
  write_genotypes(folder.path("t"), two_variants(), five_people(), fill_two);
  const Genotypes genotypes(folder.path("t"));
  const std::vector<std::int64_t> rows = {0, 1, 2, 3, 4};
  for (std::int64_t j = 0; j < 2; ++j) {
    std::vector<std::int8_t> expected(5), found(5);
    fill_two(j, expected.data());
    genotypes.read(j, rows, found.data());
    EXPECT_EQ(found, expected);
  }
  EXPECT_EQ(genotypes.people()[2].father, "a");
  EXPECT_EQ(genotypes.variants()[1].position, 200);
}

TEST(WriteGenotypes, LeavesNothingWhereItFails) {
  const TemporaryFolder folder;
  const auto fail_late = [](std::int64_t variant, std::int8_t* counts) {
    if (variant == 1) throw std::runtime_error("no more");
    fill_two(variant, counts);
  };
  EXPECT_THROW(
      write_genotypes(folder.path("t"), two_variants(), five_people(), fail_late),
      std::runtime_error);
  EXPECT_TRUE(folder.files().empty());

  // One of the three cannot be written: none appears.
  std::filesystem::create_directory(folder.path("u.fam"));
  const auto message = input_error_of([&] {
    write_genotypes(folder.path("u"), two_variants(), five_people(), fill_two);
  });
  EXPECT_NE(message.find("u.fam"), std::string::npos) << message;
  EXPECT_EQ(folder.files(), std::vector<std::string>{"u.fam"});
}

TEST(WriteGenotypes, RefusesNamesThatCannotStandInTheFiles) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::vector<Variant>& variants,
                           const std::vector<Person>& people) {
    const auto message = input_error_of(
        [&] { write_genotypes(folder.path("t"), variants, people, fill_two); });
    EXPECT_TRUE(folder.files().empty());
    return message.substr(folder.path().size() + 1);
  };
  auto people = five_people();
  people[1].id.individual = "b b";
  EXPECT_EQ(refusal(two_variants(), people),
            "t.fam:2: expected a person without blanks, found 'b b'");
  people = five_people();
  people[4].id = people[0].id;
  EXPECT_EQ(refusal(two_variants(), people),
            "t.fam:5: expected people that differ, found 'F1 a' twice");
  people = five_people();
  people[3].sex = 3;
  EXPECT_EQ(refusal(two_variants(), people),
            "t.fam:4: expected a sex of 0, 1 or 2, found 3");
  auto variants = two_variants();
  variants[1].a2 = "";
  EXPECT_EQ(refusal(variants, five_people()),
            "t.bim:2: expected a second allele without blanks, found none");
  EXPECT_EQ(refusal(two_variants(), {}),
            "t.fam: expected at least 1 person, found none");
}

}  // namespace
}  // namespace kinflow
