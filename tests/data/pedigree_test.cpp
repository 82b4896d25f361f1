// Pedigrees: known relationships, another algorithm, and files that make no sense.
#include "kinflow/data/pedigree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "kinflow/core/random.h"
#include "kinflow/data/check_relationship.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/text_lines.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;

Pedigree pedigree(const std::string& bytes) {
  TextLines lines(bytes, "p.fam");
  return read_pedigree(lines);
}

RelationshipFile relationship(const std::string& bytes, bool drop = false) {
  return pedigree_relationship(pedigree(bytes), drop);
}

std::string pedigree_error(const std::string& bytes) {
  return input_error_of([&] { relationship(bytes); });
}

/// Relationship of two people by paths through the younger one.
double by_recursion(const Pedigree& people, const std::vector<int>& generation,
                    std::int64_t a, std::int64_t b) {
  if (a < 0 || b < 0) return 0;
  const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
  if (a == b) {
    return 1 + by_recursion(people, generation, people.father[i], people.mother[i]) / 2;
  }
  if (generation[i] < generation[j]) return by_recursion(people, generation, b, a);
  return (by_recursion(people, generation, people.father[i], b) +
          by_recursion(people, generation, people.mother[i], b)) /
         2;
}

TEST(Pedigree, TextbookRelationships) {
  // c and d are sibs, e their child; f is a child of one known parent.
  const auto file = relationship("c a b\nd a b\na 0 0\nb 0 0\ne c d\nf a NA\n");
  EXPECT_EQ(file.rows, 6);
  EXPECT_TRUE(file.is_sparse());
  const auto value = [&](std::int64_t i, std::int64_t j) {
    return value_at(file, i, j);
  };
  EXPECT_EQ(value(0, 1), 0.5);   // sibs
  EXPECT_EQ(value(0, 2), 0.5);   // parent and child
  EXPECT_EQ(value(2, 3), 0);     // founders
  EXPECT_EQ(value(4, 4), 1.25);  // child of sibs
  EXPECT_EQ(value(4, 0), 0.75);  // and its parent
  EXPECT_EQ(value(5, 0), 0.25);  // half sibs
  EXPECT_EQ(value(5, 4), 0.25);
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) EXPECT_EQ(value(i, j), value(j, i));
  }
}

TEST(Pedigree, SelfingGivesInbreeding) {
  const auto file = relationship("a 0 0\nb a a\nc b b\n");
  EXPECT_EQ(to_dense(file), (Numbers{1, 1, 1, 1, 1.5, 1.5, 1, 1.5, 1.75}));
}

TEST(Pedigree, RandomPedigreesMatchTheRecursionByPaths) {
  Random random(3);
  std::string lines;
  std::vector<int> generation;
  for (int g = 0; g < 5; ++g) {
    for (int i = 0; i < 8; ++i) {
      const auto parent = [&](std::int64_t first) -> std::string {
        if (g == 0 || random.below(8) == 0) return "0";
        return fmt::format("p{}_{}", g - 1, first + random.below(4));
      };
      const auto father = parent(0), mother = parent(4);
      lines += fmt::format("p{}_{} {} {}\n", g, i, father, mother);
      generation.push_back(g);
    }
  }
  const Pedigree people = pedigree(lines);
  const auto file = pedigree_relationship(people);
  for (std::int64_t i = 0; i < file.rows; ++i) {
    for (std::int64_t j = 0; j < file.rows; ++j) {
      ASSERT_NEAR(value_at(file, i, j), by_recursion(people, generation, i, j), 1e-14);
    }
  }
  EXPECT_EQ(check_relationship(file).definiteness, Definiteness::definite);
}

TEST(Pedigree, EveryLayoutIsRead) {
  const Numbers expected = {1, 0, .5, 0, 1, .5, .5, .5, 1};
  for (const std::string bytes :
       {"a 0 0\nb 0 0\nc a b\n", "a,NA,NA\nb,,\nc,a,b\n", "a\t.\t\nb\t0\t0\nc\ta\tb\n",
        "f a 0 0 1 -9\nf b 0 0 2 -9\nf c a b 1 -9\n",
        "#FID\tIID\tSEX\tPAT\tMAT\nf\ta\t1\t0\t0\nf\tb\t2\t0\t0\nf\tc\t1\ta\tb\n",
        "dam,sire,id\n0,0,a\n0,0,b\nb,a,c\n"}) {
    EXPECT_EQ(to_dense(relationship(bytes)), expected) << bytes;
  }
  EXPECT_EQ(
      to_dense(parse_relationship("id,father,mother\na,,\nb,,\nc,a,b\n", "p.csv")),
      expected);
}

TEST(Pedigree, ParentsBelongToTheFamilyOfTheirChild) {
  const auto file = relationship("f a 0 0\ng a 0 0\ng b a 0\n");
  EXPECT_EQ(file.rows, 3);
  EXPECT_EQ(value_at(file, 2, 0), 0);
  EXPECT_EQ(value_at(file, 2, 1), 0.5);
}

TEST(Pedigree, ParentsWithoutALineAreFoundersThatMayBeDropped) {
  const auto all = relationship("c a b\nd a b\n");
  EXPECT_EQ(all.rows, 4);
  EXPECT_EQ(all.ids[2].individual, "a");
  const auto listed = relationship("c a b\nd a b\n", /*drop=*/true);
  EXPECT_EQ(listed.ids, (std::vector<SampleId>{{"", "c"}, {"", "d"}}));
  EXPECT_EQ(to_dense(listed), (Numbers{1, .5, .5, 1}));
}

TEST(Pedigree, CirclesNameTheirPeople) {
  EXPECT_EQ(pedigree_error("x 0 0\na b 0\nb c x\nc a 0\nd a 0\n"),
            "p.fam: expected nobody to be an ancestor of itself, found a circle of 3 "
            "people: 'a', child of 'b', child of 'c'");
  EXPECT_EQ(pedigree_error("f a 0 b\nf b a 0\n"),
            "p.fam: expected nobody to be an ancestor of itself, found a circle of 2 "
            "people: 'f a', child of 'f b'");
}

TEST(Pedigree, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(pedigree_error("a 0 0\nb b 0\n"),
            "p.fam:2: expected parents older than their child, found 'b' as its own "
            "parent");
  EXPECT_EQ(pedigree_error("f a 0 0\nf b 0 b\n"),
            "p.fam:2: expected parents older than their child, found 'f b' as its own "
            "parent");
  EXPECT_EQ(pedigree_error("a 0 0\na 0 0\n"),
            "p.fam:2: expected one line for each person, found 'a' again");
  EXPECT_EQ(pedigree_error("a 0 0\nb 0\n"),
            "p.fam:2: expected at least 3 cells, found 2");
  EXPECT_EQ(pedigree_error("0 a b\n"), "p.fam:1: expected an id, found none");
  EXPECT_EQ(pedigree_error(""), "p.fam: expected people, found none");
}

TEST(Pedigree, ManySmallFamiliesTakeSeconds) {
  std::string lines;
  constexpr int kFamilies = 50'000;
  // Children before their parents, so that the order has to be found.
  for (int f = 0; f < kFamilies; ++f) {
    lines += fmt::format("f{0} c a b\nf{0} d a b\nf{0} a 0 0\nf{0} b 0 0\n", f);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto file = relationship(lines);
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  EXPECT_EQ(file.rows, 4 * kFamilies);
  EXPECT_EQ(file.sparse.values.size(), 14u * kFamilies);
  EXPECT_LT(seconds.count(), 20);
}

}  // namespace
}  // namespace kinflow
