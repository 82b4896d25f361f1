// Counts of genotypes and the filters that follow from them.
#include "kinflow/genetics/variant_filters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "kinflow/core/workers.h"
#include "kinflow/genetics/genotype_counts.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

GenotypeCounts counted_one_by_one(const std::vector<std::int8_t>& row,
                                  const std::vector<std::int64_t>& people) {
  GenotypeCounts counts;
  for (const auto person : people) {
    switch (row[static_cast<std::size_t>(person)]) {
      case 2:
        ++counts.homozygous_a1;
        break;
      case 1:
        ++counts.heterozygous;
        break;
      case 0:
        ++counts.homozygous_a2;
        break;
      default:
        ++counts.missing;
    }
  }
  return counts;
}

/// The p-value from the probabilities of all possible tables.
double hardy_weinberg_by_enumeration(const GenotypeCounts& counts) {
  const auto n = static_cast<double>(counts.known());
  const std::int64_t a1 = 2 * counts.homozygous_a1 + counts.heterozygous;
  const std::int64_t a2 = 2 * counts.known() - a1;
  const auto log_probability = [&](std::int64_t heterozygous) {
    const auto h = static_cast<double>(heterozygous);
    const auto p = static_cast<double>((a1 - heterozygous) / 2);
    const auto q = static_cast<double>((a2 - heterozygous) / 2);
    return h * std::log(2) + std::lgamma(n + 1) - std::lgamma(p + 1) -
           std::lgamma(q + 1) - std::lgamma(h + 1);
  };
  const double observed = log_probability(counts.heterozygous);
  double at_most = 0, all = 0;
  for (std::int64_t h = a1 % 2; h <= std::min(a1, a2); h += 2) {
    const double relative = std::exp(log_probability(h) - observed);
    all += relative;
    if (relative <= 1 + 1e-7) at_most += relative;
  }
  return at_most / all;
}

std::vector<std::string> ids_of(const Genotypes& genotypes, const Chosen& chosen) {
  std::vector<std::string> ids;
  for (const auto row : chosen.rows) {
    ids.push_back(genotypes.variants()[static_cast<std::size_t>(row)].id);
  }
  return ids;
}

std::vector<std::string> words_of(const std::string& path) {
  std::istringstream text(content_of(path));
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

TEST(GenotypeCounts, OfAnySetArePeopleCountedOneByOne) {
  const TemporaryFolder folder;
  for (const int people : {1, 3, 31, 32, 33, 64, 65, 130}) {
    SCOPED_TRACE(people);
    const auto content = random_content(people, 12, 8);
    const Genotypes genotypes(write_bed(folder, "t", content));
    const auto everyone = all_people(genotypes);
    std::vector<std::int64_t> some;
    for (const auto i : everyone) {
      if (i % 3 != 1) some.push_back(people - 1 - i);
    }
    for (const auto& chosen : {everyone, some}) {
      const PeopleMask mask(chosen, genotypes.people().size());
      for (std::size_t v = 0; v < 12; ++v) {
        EXPECT_EQ(mask.count(genotypes.packed(static_cast<std::int64_t>(v))),
                  counted_one_by_one(content.counts[v], chosen));
      }
    }
  }
}

TEST(HardyWeinberg, IsTheSumOverAllTables) {
  Random random(9);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const std::int64_t most = repeat % 2 == 0 ? 12 : 400;
    const GenotypeCounts counts{.homozygous_a1 = random.below(most),
                                .heterozygous = random.below(most),
                                .homozygous_a2 = random.below(most),
                                .missing = 3};
    const double expected = hardy_weinberg_by_enumeration(counts);
    if (std::isnan(expected)) continue;
    EXPECT_NEAR(hardy_weinberg_p(counts), expected, 1e-9 * expected + 1e-290)
        << counts.homozygous_a1 << " " << counts.heterozygous << " "
        << counts.homozygous_a2;
  }
}

TEST(HardyWeinberg, HasTheValuesThatPlinkPrints) {
  // plink1.9 --hardy: AA, AB, BB and p.
  const auto p = [](std::int64_t aa, std::int64_t ab, std::int64_t bb) {
    return hardy_weinberg_p(
        {.homozygous_a1 = aa, .heterozygous = ab, .homozygous_a2 = bb});
  };
  EXPECT_NEAR(p(3, 5, 92), 0.0008715, 5e-8);
  EXPECT_NEAR(p(20, 50, 30), 1, 1e-12);
  EXPECT_NEAR(p(0, 40, 60), 0.01062, 5e-6);
  EXPECT_NEAR(p(200, 0, 200), 5.475e-121, 5e-125);
  EXPECT_NEAR(p(1, 300, 900), 2.029e-8, 5e-12);
  EXPECT_NEAR(p(57, 14, 50), 5.562e-19, 5e-23);
  EXPECT_EQ(p(0, 0, 0), 1);
  EXPECT_EQ(p(0, 0, 50), 1);
  EXPECT_EQ(p(0, 1, 50), 1);
  EXPECT_EQ(p(5000, 0, 5000), 0);
}

class VariantFilter : public testing::Test {
 protected:
  Chosen chosen(const VariantFilters& filters) {
    return choose_variants(*genotypes_, all_people(*genotypes_), filters);
  }
  void write(const BedContent& content) {
    content_ = content;
    genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content));
  }

  TemporaryFolder folder_;
  BedContent content_;
  std::unique_ptr<Genotypes> genotypes_;
};

TEST_F(VariantFilter, StepsCountWhatTheOnesBeforeHaveLeft) {
  write(random_content(200, 300, 10, {"1", "2", "X"}));
  folder_.write("in.txt", "rs1 rs2\trs3\nrs250\n\nrs4 unknown");
  folder_.write("out.txt", "rs2\n");
  VariantFilters filters{.chromosomes = {"1-2"},
                         .extract = folder_.path("in.txt"),
                         .exclude = folder_.path("out.txt")};
  const auto named = chosen(filters);
  EXPECT_EQ(ids_of(*genotypes_, named),
            (std::vector<std::string>{"rs1", "rs3", "rs4"}));
  ASSERT_EQ(named.steps.size(), 3U);
  EXPECT_EQ(named.in_file, 300);
  EXPECT_EQ(named.steps[0].filter, "--chr 1-2");
  EXPECT_EQ(named.steps[0].removed, 100);
  EXPECT_EQ(named.steps[1].left, 4);
  EXPECT_EQ(named.steps[2].removed, 1);

  const auto counted = chosen({.largest_missing_share = 0.1,
                               .least_hardy_weinberg_p = 0.001,
                               .least_minor_frequency = 0.05});
  ASSERT_EQ(counted.steps.size(), 3U);
  EXPECT_EQ(counted.steps[0].filter, "--geno 0.1");
  EXPECT_EQ(counted.steps[1].filter, "--hwe 0.001");
  EXPECT_EQ(counted.steps[2].filter, "--maf 0.05");
  std::int64_t left = 300;
  for (const auto& step : counted.steps) {
    EXPECT_GT(step.removed, 0);
    left -= step.removed;
    EXPECT_EQ(step.left, left);
  }
  EXPECT_EQ(counted.rows.size(), static_cast<std::size_t>(left));
}

TEST_F(VariantFilter, DoesNotDependOnThreads) {
  write(random_content(100, 2000, 11));
  const VariantFilters filters{.largest_missing_share = 0.05,
                               .least_hardy_weinberg_p = 0.01,
                               .least_minor_frequency = 0.1};
  const auto alone = chosen(filters).rows;
  set_worker_threads(3);
  const auto together = chosen(filters).rows;
  set_worker_threads(1);
  EXPECT_EQ(alone, together);
}

TEST_F(VariantFilter, KeepsVariantsAtTheLimit) {
  auto content = random_content(20, 4, 12, {"1"});
  for (auto& person : content.people) person.father = person.mother = "";
  for (auto& row : content.counts) std::fill(row.begin(), row.end(), 0);
  content.counts[0][0] = content.counts[0][1] = 1;  // frequency 2 / 40
  content.counts[1][0] = 1;
  content.counts[2][0] = content.counts[2][1] = kMissingGenotype;  // 2 of 20
  content.counts[3][0] = content.counts[3][1] = content.counts[3][2] = kMissingGenotype;
  write(content);
  EXPECT_EQ(ids_of(*genotypes_, chosen({.least_minor_frequency = 0.05})),
            (std::vector<std::string>{"rs0"}));
  EXPECT_EQ(ids_of(*genotypes_, chosen({.largest_missing_share = 0.1})),
            (std::vector<std::string>{"rs0", "rs1", "rs2"}));
}

TEST_F(VariantFilter, TellsWhatRemovedEverything) {
  write(random_content(20, 4, 12, {"1"}));
  EXPECT_EQ(input_error_of([&] { chosen({.chromosomes = {"2"}}); }),
            folder_.path("t.bim") +
                ": expected variants that pass the filters, found none of 4 (--chr 2 "
                "removed 4)");
  EXPECT_EQ(
      input_error_of([&] {
        chosen({.chromosomes = {"1", "4-2"}});
      }),
      "--chr: expected chromosomes from 1 to 22, X, Y, XY, MT, ranges such as 1-4 "
      "or names of the .bim, found '4-2'");
  EXPECT_TRUE(input_error_of([&] {
                chosen({.extract = folder_.path("no")});
              }).starts_with(folder_.path("no: cannot read")));
}

TEST_F(VariantFilter, NeedsFoundersForFrequencies) {
  auto content = random_content(8, 4, 12, {"1"});
  for (auto& person : content.people) person.father = "p";
  write(content);
  EXPECT_EQ(
      input_error_of([&] { chosen({.least_minor_frequency = 0.01}); }),
      folder_.path("t.fam") +
          ": expected founders, whose alleles --hwe, --maf and --mac count, found "
          "none; --nonfounders counts everyone");
  EXPECT_NO_THROW(chosen({.least_minor_frequency = 0, .with_nonfounders = true}));
}

TEST(PeopleFilter, KeepsAndRemovesByEitherKindOfId) {
  const TemporaryFolder folder;
  const Genotypes genotypes(write_bed(folder, "t", random_content(10, 2, 13)));
  const auto keep = folder.write("keep", "F0 I1\nF0 I2\nF1 I7\nF9 I1\nF1 I1\n");
  const auto remove = folder.write("remove", "I2\nnobody\n");
  const auto chosen = choose_people(genotypes, {.keep = keep, .remove = remove});
  EXPECT_EQ(chosen.rows, (std::vector<std::int64_t>{1, 7}));
  ASSERT_EQ(chosen.steps.size(), 2U);
  EXPECT_EQ(chosen.steps[0].left, 3);
  EXPECT_EQ(chosen.steps[1].removed, 1);
  EXPECT_EQ(choose_people(genotypes, {}).rows, all_people(genotypes));
  EXPECT_EQ(input_error_of(
                [&] { choose_people(genotypes, {.keep = remove, .remove = remove}); }),
            folder.path("t.fam") +
                ": expected people that pass the filters, found none of 10 (--keep "
                "removed 9, "
                "--remove removed 1)");
}

TEST(PeopleFilter, RefusesAnIdOfSeveralPeople) {
  const TemporaryFolder folder;
  auto content = random_content(3, 2, 13);
  content.people[2].id = {"other", "I1"};
  const Genotypes genotypes(write_bed(folder, "t", content));
  const auto keep = folder.write("keep", "I1\n");
  EXPECT_EQ(input_error_of([&] { choose_people(genotypes, {.keep = keep}); }),
            keep + ": expected a family id with 'I1', which 2 people of " +
                folder.path("t") + ".fam have, found none");
}

TEST_F(VariantFilter, KeepsTheVariantsThatPlinkKeeps) {
  if (!has_tool("plink1.9")) GTEST_SKIP() << "plink1.9 is not installed";
  auto content = random_content(237, 900, 14, {"0", "1", "3", "20", "21", "22", "23"});
  content.people[7].sex = 0;
  content.people[8].sex = 0;
  write(content);
  std::string kept;
  for (std::size_t i = 0; i < content.people.size(); ++i) {
    const auto& id = content.people[i].id;
    if (i % 7 != 3) kept += id.family + " " + id.individual + "\n";
  }
  folder_.write("keep.txt", kept);
  folder_.write("in.txt", [] {
    std::string names;
    for (int v = 0; v < 880; ++v) names += fmt::format("rs{}\n", v);
    return names;
  }());
  const auto people =
      choose_people(*genotypes_, {.keep = folder_.path("keep.txt")}).rows;
  struct Case {
    std::string options;
    VariantFilters filters;
  };
  const VariantFilters base{.autosomes = 19};
  std::vector<Case> cases;
  for (const double maf : {0.01, 0.05, 0.2}) {
    cases.push_back({fmt::format("--maf {}", maf), base});
    cases.back().filters.least_minor_frequency = maf;
  }
  for (const double mac : {1.0, 20.0, 100.0}) {
    cases.push_back({fmt::format("--mac {}", mac), base});
    cases.back().filters.least_minor_count = mac;
  }
  for (const double geno : {0.0, 0.02, 0.1}) {
    cases.push_back({fmt::format("--geno {}", geno), base});
    cases.back().filters.largest_missing_share = geno;
  }
  for (const double hwe : {1e-10, 0.001, 0.05}) {
    cases.push_back({fmt::format("--hwe {}", hwe), base});
    cases.back().filters.least_hardy_weinberg_p = hwe;
  }
  cases.push_back(
      {"--maf 0.1 --geno 0.1 --hwe 0.01 --chr 1-3,X --extract in.txt "
       "--nonfounders",
       {.chromosomes = {"1-3", "X"},
        .extract = folder_.path("in.txt"),
        .largest_missing_share = 0.1,
        .least_hardy_weinberg_p = 0.01,
        .least_minor_frequency = 0.1,
        .autosomes = 19,
        .with_nonfounders = true}});
  for (const auto& [options, filters] : cases) {
    SCOPED_TRACE(options);
    ASSERT_TRUE(run_in(folder_,
                       "plink1.9 --bfile t --chr-set 19 --keep keep.txt "
                       "--write-snplist --out plink " +
                           options));
    EXPECT_EQ(ids_of(*genotypes_, choose_variants(*genotypes_, people, filters)),
              words_of(folder_.path("plink.snplist")));
  }
}

TEST_F(VariantFilter, KeepsTheGoldenVariants) {
  write(random_content(60, 40, 15));
  // What plink1.9 --maf 0.1 --geno 0.1 --hwe 0.05 keeps.
  EXPECT_EQ(fmt::format(
                "{}", fmt::join(ids_of(*genotypes_, chosen({
                                                        .largest_missing_share = 0.1,
                                                        .least_hardy_weinberg_p = 0.05,
                                                        .least_minor_frequency = 0.1,
                                                    })),
                                " ")),
            "rs1 rs2 rs3 rs5 rs6 rs9 rs10 rs11 rs13 rs14 rs16 rs17 rs18 rs19 rs20 rs25 "
            "rs26 rs30 rs31 rs32 rs33 rs34 rs35 rs37 rs38");
}

}  // namespace
}  // namespace kinflow
