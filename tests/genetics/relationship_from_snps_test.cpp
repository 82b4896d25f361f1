// Relationship matrices from genotypes.
#include "kinflow/genetics/relationship_from_snps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kinflow/core/workers.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/write_relationship.h"
#include "kinflow/genetics/variant_filters.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

using Kind = SnpRelationshipKind;

std::vector<std::int64_t> first_numbers(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

struct Oracle {
  std::vector<double> values, counts;  // [n x n]
};

/// The matrix by its definition, one pair at a time.
Oracle oracle(const BedContent& content, const std::vector<std::int64_t>& people,
              const std::vector<std::int64_t>& variants, Kind kind) {
  const std::size_t n = people.size();
  Oracle result{.values = std::vector<double>(n * n),
                .counts = std::vector<double>(n * n)};
  for (const auto v : variants) {
    const auto& row = content.counts[static_cast<std::size_t>(v)];
    double sum = 0, known = 0, founder_sum = 0, founders = 0;
    std::vector<double> x;
    for (const auto person : people) {
      const auto i = static_cast<std::size_t>(person);
      const bool is_missing = row[i] == kMissingGenotype;
      x.push_back(is_missing ? std::nan("") : row[i]);
      if (is_missing) continue;
      sum += row[i];
      ++known;
      if (!content.people[i].is_founder()) continue;
      founder_sum += row[i];
      ++founders;
    }
    double mean = sum / known, scale = 1;
    if (kind == Kind::standardized) {
      mean = founder_sum / founders;
      scale = std::sqrt(mean * (1 - mean / 2));
    } else if (kind == Kind::unit_variance) {
      double squares = 0;
      for (const double value : x) {
        if (!std::isnan(value)) squares += (value - mean) * (value - mean);
      }
      scale = std::sqrt(squares / static_cast<double>(n));
    }
    const bool varies = std::any_of(x.begin(), x.end(), [&](double value) {
      return !std::isnan(value) && value != mean;
    });
    if (scale == 0 || (kind != Kind::standardized && !varies)) continue;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const bool both = !std::isnan(x[i]) && !std::isnan(x[j]);
        result.counts[i * n + j] += both || kind != Kind::standardized;
        if (both) {
          result.values[i * n + j] += (x[i] - mean) / scale * (x[j] - mean) / scale;
        }
      }
    }
  }
  for (std::size_t at = 0; at < n * n; ++at) result.values[at] /= result.counts[at];
  return result;
}

double largest_difference(const std::vector<double>& left,
                          const std::vector<double>& right) {
  if (left.size() != right.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest, std::abs(left[i] - right[i]));
  }
  return largest;
}

class SnpRelationship : public testing::Test {
 protected:
  /// Without variants that the founders have in one form only.
  void write(int people, int variants, std::uint64_t seed,
             const std::vector<std::string>& chromosomes = {"1", "2", "3"}) {
    content_ = random_content(people, variants, seed, chromosomes);
    genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content_));
    variants_ = choose_variants(*genotypes_, all_people(*genotypes_),
                                {.least_minor_frequency = 0.02})
                    .rows;
    std::string names;
    for (const auto v : variants_)
      names += genotypes_->variants()[static_cast<std::size_t>(v)].id + "\n";
    folder_.write("in.txt", names);
  }
  RelationshipFile matrix(Kind kind) const {
    return snp_relationship(*genotypes_, all_people(*genotypes_), variants_,
                            {.kind = kind});
  }

  TemporaryFolder folder_;
  BedContent content_;
  std::unique_ptr<Genotypes> genotypes_;
  std::vector<std::int64_t> variants_;
};

TEST_F(SnpRelationship, IsItsDefinition) {
  for (const int people : {5, 63, 530}) {
    SCOPED_TRACE(people);
    write(people, people > 100 ? 40 : 300, 20);
    std::vector<std::int64_t> some;
    for (int i = people - 1; i >= 0; --i) {
      if (i % 4 != 2) some.push_back(i);
    }
    for (const auto kind : {Kind::centered, Kind::standardized, Kind::unit_variance}) {
      for (const auto& chosen : {all_people(*genotypes_), some}) {
        const auto file =
            snp_relationship(*genotypes_, chosen, variants_, {.kind = kind});
        const auto expected = oracle(content_, chosen, variants_, kind);
        EXPECT_LT(largest_difference(file.dense, expected.values), 5e-6);
        ASSERT_EQ(file.ids.size(), chosen.size());
        EXPECT_EQ(file.ids[1], content_.people[static_cast<std::size_t>(chosen[1])].id);
        if (kind != Kind::standardized) {
          EXPECT_TRUE(file.pair_variants.empty());
          EXPECT_EQ(file.variants, expected.counts[0]);
          continue;
        }
        std::size_t place = 0;
        for (std::size_t i = 0; i < chosen.size(); ++i) {
          for (std::size_t j = 0; j <= i; ++j) {
            ASSERT_EQ(file.pair_variants[place++],
                      expected.counts[i * chosen.size() + j]);
          }
        }
      }
    }
  }
}

TEST_F(SnpRelationship, DoesNotDependOnThreads) {
  write(600, 200, 21);
  const auto alone = matrix(Kind::standardized);
  set_worker_threads(3);
  const auto together = matrix(Kind::standardized);
  set_worker_threads(1);
  EXPECT_EQ(alone.dense, together.dense);
  EXPECT_EQ(alone.pair_variants, together.pair_variants);
}

TEST_F(SnpRelationship, OfManyBlocksIsThatOfOne) {
  write(20, 2500, 22);
  const auto expected =
      oracle(content_, all_people(*genotypes_), variants_, Kind::standardized);
  EXPECT_LT(largest_difference(matrix(Kind::standardized).dense, expected.values),
            5e-6);
}

TEST_F(SnpRelationship, WithoutAChromosomeIsThatOfTheOthers) {
  write(40, 300, 23, {"1", "chr1", "X", "contig"});
  for (const auto kind : {Kind::centered, Kind::standardized}) {
    std::vector<std::string> names;
    visit_leaving_chromosomes_out(
        *genotypes_, all_people(*genotypes_), variants_, {.kind = kind},
        [&](const ChromosomeVariants& left_out, const RelationshipFile& file) {
          names.push_back(left_out.name);
          std::vector<std::int64_t> others;
          std::set_difference(variants_.begin(), variants_.end(),
                              left_out.variants.begin(), left_out.variants.end(),
                              std::back_inserter(others));
          const auto expected = snp_relationship(*genotypes_, all_people(*genotypes_),
                                                 others, {.kind = kind});
          EXPECT_LT(largest_difference(file.dense, expected.dense), 5e-6);
          EXPECT_EQ(file.pair_variants, expected.pair_variants);
          EXPECT_EQ(file.variants, expected.variants);
        });
    EXPECT_EQ(names, (std::vector<std::string>{"1", "X", "contig"}));
  }
}

TEST_F(SnpRelationship, LeavesOutVariantsThatDoNotVary) {
  content_ = random_content(10, 3, 24, {"1"});
  std::fill(content_.counts[0].begin(), content_.counts[0].end(), 0);
  std::fill(content_.counts[1].begin(), content_.counts[1].end(), kMissingGenotype);
  content_.counts[2] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
  const Genotypes genotypes(write_bed(folder_, "t", content_));
  for (const auto kind : {Kind::centered, Kind::standardized, Kind::unit_variance}) {
    const auto everyone = all_people(genotypes);
    const auto file =
        snp_relationship(genotypes, everyone, first_numbers(3), {.kind = kind});
    EXPECT_EQ(file.variants, 1);
    EXPECT_TRUE(std::isfinite(file.dense[3]));
    EXPECT_EQ(input_error_of([&] {
                snp_relationship(genotypes, everyone, first_numbers(2), {.kind = kind});
              }),
              folder_.path("t.bed") +
                  ": expected variants that vary among the people, found none");
  }
}

TEST_F(SnpRelationship, NamesPeopleWithoutACommonVariant) {
  content_ = random_content(6, 2, 24, {"1"});
  content_.counts = {{0, 1, 2, 0, 1, kMissingGenotype},
                     {0, 1, kMissingGenotype, 0, 1, 2}};
  const Genotypes genotypes(write_bed(folder_, "t", content_));
  EXPECT_EQ(input_error_of([&] {
              snp_relationship(genotypes, all_people(genotypes), first_numbers(2), {});
            }),
            folder_.path("t.bed") +
                ": expected variants that both 'F1 I5' and 'F0 I2' have, found none");
}

TEST_F(SnpRelationship, NeedsFoundersAndSeveralChromosomes) {
  content_ = random_content(6, 4, 25, {"7"});
  for (auto& person : content_.people) person.father = "p";
  const Genotypes genotypes(write_bed(folder_, "t", content_));
  EXPECT_EQ(input_error_of([&] {
              snp_relationship(genotypes, all_people(genotypes), first_numbers(4), {});
            }),
            folder_.path("t.fam") +
                ": expected founders, whose frequencies a standardized matrix needs, "
                "found none; --nonfounders counts everyone");
  EXPECT_EQ(
      input_error_of([&] {
        visit_leaving_chromosomes_out(genotypes, all_people(genotypes),
                                      first_numbers(4), {.with_nonfounders = true},
                                      [](const auto&, const auto&) {});
      }),
      folder_.path("t.bim") +
          ": expected variants of several chromosomes, to leave out one at a time, "
          "found those of 7 only");
}

TEST_F(SnpRelationship, IsPlinksWithItsCounts) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  write(150, 700, 26, {"0", "1", "25"});
  ASSERT_TRUE(
      run_in(folder_, "plink1.9 --bfile t --extract in.txt --make-grm-bin --out p"));
  const auto truth = read_relationship(folder_.path("p"));
  const auto file = matrix(Kind::standardized);
  EXPECT_EQ(file.ids, truth.ids);
  EXPECT_LT(largest_difference(file.dense, truth.dense), 1e-5);
  write_relationship(folder_.path("own.grm.bin"), file);
  EXPECT_EQ(content_of(folder_.path("own.grm.N.bin")),
            content_of(folder_.path("p.grm.N.bin")));
  EXPECT_EQ(content_of(folder_.path("own.grm.id")),
            content_of(folder_.path("p.grm.id")));
}

TEST_F(SnpRelationship, IsGemmas) {
  if (!has_tool("gemma")) GTEST_SKIP() << "gemma is not installed";
  write(90, 400, 27);
  // GEMMA takes people with a phenotype for its filters.
  std::string fam;
  for (std::size_t i = 0; i < content_.people.size(); ++i) {
    const auto& person = content_.people[i];
    fam += fmt::format("{} {} 0 0 {} {}.5\n", person.id.family, person.id.individual,
                       person.sex, i % 7);
  }
  folder_.write("t.fam", fam);
  for (const auto& [number, name, kind] :
       {std::tuple{1, "c", Kind::centered}, {2, "s", Kind::unit_variance}}) {
    ASSERT_TRUE(run_in(folder_, fmt::format("gemma -bfile t -gk {} -snps in.txt -maf 0 "
                                            "-miss 1 -outdir . -o g",
                                            number)));
    const auto truth = read_relationship(folder_.path(fmt::format("g.{}XX.txt", name)));
    EXPECT_LT(largest_difference(matrix(kind).dense, truth.dense), 1e-5) << name;
  }
}

TEST_F(SnpRelationship, HasTheGoldenValues) {
  write(40, 120, 28);
  // Entries (7, 3) and (9, 9) of plink1.9 --make-grm-bin and gemma -gk 1 and 2.
  const auto expect = [&](Kind kind, double off_diagonal, double diagonal) {
    const auto file = matrix(kind);
    EXPECT_NEAR(value_at(file, 7, 3), off_diagonal, 1e-5);
    EXPECT_NEAR(value_at(file, 9, 9), diagonal, 1e-5);
  };
  expect(Kind::standardized, -0.276698, 1.62805);
  expect(Kind::centered, -0.1040861771, 0.4930836553);
  expect(Kind::unit_variance, -0.2239185863, 1.180011316);
}

}  // namespace
}  // namespace kinflow
