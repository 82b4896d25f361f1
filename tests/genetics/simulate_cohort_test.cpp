// Simulated cohorts against what was asked for: Mendel's laws, frequencies, linkage
// disequilibrium, kinship, and files.
#include "kinflow/genetics/simulate_cohort.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <sstream>

#include "kinflow/data/pedigree.h"
#include "tests/data/helpers.h"
#include "tests/genetics/simulated_cohorts.h"

namespace kinflow {
namespace {

double r_squared(const std::vector<std::int8_t>& left,
                 const std::vector<std::int8_t>& right) {
  double xy = 0, xx = 0, yy = 0;
  const double x_mean = 2 * frequency(left), y_mean = 2 * frequency(right);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double x = left[i] - x_mean, y = right[i] - y_mean;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  return xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

TEST(SimulateCohort, ChildrenHaveAllelesOfTheirParents) {
  const TemporaryFolder folder;
  auto options = small_options();
  options.missing_calls = 0;
  options.relatives = 0.9;
  const auto cohort = simulate_cohort(options, folder.path("c"));
  const auto counts = all_counts(folder.path("c"));
  std::int64_t trios = 0;
  for (const auto& family : cohort.families) {
    for (const auto& child : family.members) {
      if (child.father < 0 || child.row < 0) continue;
      const auto& father = family.members[static_cast<std::size_t>(child.father)];
      const auto& mother = family.members[static_cast<std::size_t>(child.mother)];
      EXPECT_EQ(father.person.sex, 1);
      EXPECT_EQ(mother.person.sex, 2);
      EXPECT_GT(father.age, child.age + 15);
      if (father.row < 0 || mother.row < 0) continue;
      ++trios;
      for (const auto& variant : counts) {
        const auto of = [&](const SimulatedMember& member) {
          return int{variant[static_cast<std::size_t>(member.row)]};
        };
        const int least = (of(father) == 2) + (of(mother) == 2);
        const int most = (of(father) > 0) + (of(mother) > 0);
        ASSERT_GE(of(child), least);
        ASSERT_LE(of(child), most);
      }
    }
  }
  EXPECT_GT(trios, 30);
}

TEST(SimulateCohort, FamiliesTakeTheSharesThatWereAsked) {
  auto options = small_options();
  options.people = 1000;
  options.relatives = 0.55;
  std::int64_t relatives = 0, row = 0, admixed = 0;
  const auto families = simulate_families(options);
  for (const auto& family : families) {
    double ancestry = 0;
    for (const double share : family.ancestry) ancestry += share;
    EXPECT_NEAR(ancestry, 1, 1e-12);
    admixed += *std::max_element(family.ancestry.begin(), family.ancestry.end()) < 1;
    for (const auto& member : family.members) {
      if (member.row < 0) continue;
      EXPECT_EQ(member.row, row++);
      EXPECT_GE(member.age, 15);
      EXPECT_LE(member.age, 85);
      relatives += family.members.size() > 1;
    }
  }
  EXPECT_EQ(row, 1000);
  EXPECT_NEAR(static_cast<double>(relatives), 550, 2);
  EXPECT_NEAR(static_cast<double>(admixed) / static_cast<double>(families.size()), 0.2,
              0.06);
  options.families = {FamilyShape::sibship};
  options.relatives = 1;
  const auto siblings = simulate_families(options);
  for (const auto& family : siblings) {
    // One person can be left over.
    EXPECT_TRUE(family.members.size() >= 4 || &family == &siblings.back());
  }
}

/// Hudson's F_ST of two groups, the ratio of sums over variants, and the mean
/// heterozygosity within them.
std::pair<double, double> fst_and_heterozygosity(const Counts& counts,
                                                 const std::vector<int>& group) {
  double differences = 0, between = 0, within = 0;
  for (const auto& variant : counts) {
    double p[2] = {0, 0}, n[2] = {0, 0};
    for (std::size_t i = 0; i < variant.size(); ++i) {
      p[group[i]] += variant[i];
      n[group[i]] += 2;
    }
    for (int k = 0; k < 2; ++k) p[k] /= n[k];
    const double noise =
        p[0] * (1 - p[0]) / (n[0] - 1) + p[1] * (1 - p[1]) / (n[1] - 1);
    differences += (p[0] - p[1]) * (p[0] - p[1]) - noise;
    between += p[0] * (1 - p[1]) + p[1] * (1 - p[0]);
    within += p[0] * (1 - p[0]) + p[1] * (1 - p[1]);
  }
  return {differences / between, within / static_cast<double>(counts.size())};
}

TEST(SimulateCohort, PopulationsDriftedAsFarAsAsked) {
  const TemporaryFolder folder;
  for (const double fst : {0.0, 0.02, 0.1}) {
    SimulateCohortOptions options;
    options.people = 500;
    options.snps = 8000;
    options.populations = 2;
    options.fst = fst;
    options.relatives = 0;
    options.admixed = 0;
    options.missing_calls = 0;
    const auto cohort = simulate_cohort(options, folder.path("c"));
    std::vector<int> group;
    for (const auto& family : cohort.families) group.push_back(family.ancestry[0] < 1);
    const auto [found, heterozygosity] =
        fst_and_heterozygosity(all_counts(folder.path("c")), group);
    EXPECT_NEAR(found, fst, 0.002 + 0.08 * fst);
    // Frequencies are uniform on [0.05, 0.95] before the drift.
    const double before = 2 * (0.25 - 0.9 * 0.9 / 12);
    EXPECT_NEAR(heterozygosity, before * (1 - fst), 0.01);
  }
}

TEST(SimulateCohort, RelativesShareWhatThePedigreeSays) {
  const TemporaryFolder folder;
  const auto cohort = write_simulated_cohort(folder.path("c"), one_population());
  const auto counts = all_counts(folder.path("c/cohort"));
  const auto people = cohort.people.size();
  std::vector<std::vector<double>> standardised(people);
  for (const auto& variant : counts) {
    const double p = frequency(variant);
    if (p < 0.05 || p > 0.95) continue;
    for (std::size_t i = 0; i < people; ++i) {
      standardised[i].push_back((variant[i] - 2 * p) / std::sqrt(2 * p * (1 - p)));
    }
  }
  const auto relationship = [&](std::int64_t one, std::int64_t other) {
    const auto& x = standardised[static_cast<std::size_t>(one)];
    const auto& y = standardised[static_cast<std::size_t>(other)];
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0) /
           static_cast<double>(x.size());
  };

  const auto pedigree = read_pedigree(folder.path("c/pedigree.tsv"));
  std::map<std::string, std::int64_t> row_of;
  for (std::size_t i = 0; i < people; ++i) {
    row_of[cohort.people[i].id.individual] = static_cast<std::int64_t>(i);
  }
  const auto additive = pedigree_relationship(pedigree);
  ASSERT_TRUE(additive.is_sparse());
  std::map<double, std::vector<double>> shared;
  const auto find = [&](std::int64_t row) {
    return row_of.find(pedigree.ids[static_cast<std::size_t>(row)].individual);
  };
  for (std::int64_t row = 0; row < additive.rows; ++row) {
    visit_row(additive, row, [&](std::int64_t column, double value) {
      const auto one = find(row), other = find(column);
      if (column >= row || one == row_of.end() || other == row_of.end()) return;
      shared[value].push_back(relationship(one->second, other->second));
    });
  }
  for (const double relation : {0.125, 0.25, 0.5}) {
    ASSERT_GT(shared[relation].size(), 40u) << relation;
    EXPECT_NEAR(mean(shared[relation]), relation, 0.015) << relation;
  }
}

TEST(SimulateCohort, LinkageDecaysWithDistance) {
  const TemporaryFolder folder;
  auto options = one_population();
  options.snps = 3000;
  options.chromosomes = 2;
  options.relatives = 0;
  simulate_cohort(options, folder.path("c"));
  const auto counts = all_counts(folder.path("c"));
  const Genotypes genotypes(folder.path("c"));
  const auto& variants = genotypes.variants();
  std::map<std::int64_t, std::vector<double>> by_distance;  // in tens of kilobases
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double p = frequency(counts[i]);
    if (p < 0.2 || p > 0.8) continue;
    for (std::size_t j = i + 1; j < std::min(i + 80, counts.size()); ++j) {
      const double q = frequency(counts[j]);
      if (q < 0.2 || q > 0.8 || variants[i].chromosome != variants[j].chromosome) {
        continue;
      }
      by_distance[(variants[j].position - variants[i].position) / 10000].push_back(
          r_squared(counts[i], counts[j]));
    }
  }
  const double near = mean(by_distance[0]), middle = mean(by_distance[5]),
               far = mean(by_distance[10]), farthest = mean(by_distance[50]);
  EXPECT_GT(near, 0.3);
  EXPECT_LT(near, 0.8);
  EXPECT_LT(middle, near / 2);
  EXPECT_GT(middle, 0.05);
  EXPECT_LT(far, middle);
  EXPECT_LT(far, 0.1);
  EXPECT_LT(farthest, 0.02);
}

TEST(SimulateCohort, IsTheSameForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const auto options = small_options();
  for (const std::int64_t threads : {1, 2, 3}) {
    write_simulated_cohort(folder.path(std::to_string(threads)), options,
                           {.threads = threads});
  }
  auto other = options;
  other.seed = 5;
  write_simulated_cohort(folder.path("other"), other);
  for (const std::string name :
       {"cohort.bed", "cohort.bim", "cohort.fam", "pheno.tsv", "covar.tsv", "truth.tsv",
        "latents.tsv", "pedigree.tsv", "report.txt"}) {
    const auto bytes = content_of(folder.path("1/" + name));
    EXPECT_FALSE(bytes.empty()) << name;
    EXPECT_EQ(content_of(folder.path("2/" + name)), bytes) << name;
    EXPECT_EQ(content_of(folder.path("3/" + name)), bytes) << name;
    EXPECT_NE(content_of(folder.path("other/" + name)), bytes) << name;
  }
}

TEST(SimulateCohort, CallsAndValuesAreMissingAtTheirRates) {
  const TemporaryFolder folder;
  auto options = small_options();
  options.people = 1001;  // a last byte that is not full
  options.missing_calls = 0.03;
  options.missing_values = 0.1;
  const auto cohort = simulate_cohort(options, folder.path("c"));
  double missing = 0;
  const auto counts = all_counts(folder.path("c"));
  for (const auto& variant : counts) {
    missing += static_cast<double>(
        std::count(variant.begin(), variant.end(), kMissingGenotype));
  }
  EXPECT_NEAR(missing / (600 * 1001), 0.03, 0.002);
  const auto& values = cohort.traits.biomarkers;
  const auto lost = std::count_if(values.begin(), values.end(),
                                  [](double value) { return std::isnan(value); });
  EXPECT_NEAR(static_cast<double>(lost) / (1001 * 6), 0.1, 0.02);
}

TEST(SimulateCohort, RefusesBadOptions) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::function<void(SimulateCohortOptions&)>& change) {
    auto options = small_options();
    change(options);
    const auto message =
        input_error_of([&] { write_simulated_cohort(folder.path("new"), options); });
    EXPECT_TRUE(folder.files().empty());
    return message;
  };
  EXPECT_EQ(refusal([](auto& o) { o.people = 3; }),
            "[simulate] expected 10 to 10000000 people, received 3");
  EXPECT_EQ(refusal([](auto& o) { o.snps = 2; }),
            "[simulate] expected 3 to 100000000 SNPs, received 2");
  EXPECT_EQ(refusal([](auto& o) { o.null_chromosomes = 3; }),
            "[simulate] expected 0 to 2 chromosomes without effects, received 3");
  EXPECT_EQ(refusal([](auto& o) { o.families.clear(); }),
            "[simulate] expected at least 1 shape of families, received none");
  EXPECT_EQ(refusal([](auto& o) { o.fst = 1; }),
            "[simulate] expected an F_ST from 0 to 0.9, received 1");
  EXPECT_EQ(refusal([](auto& o) { o.heritability = 0.95; }),
            "[simulate] expected heritability and family environment of at most 1 "
            "together, received 0.95 and 0.1");
  EXPECT_EQ(refusal([](auto& o) { o.genetic_correlation = -0.2; }),
            "[simulate] expected a genetic correlation of 6 traits between -0.2 and 1, "
            "received -0.2");
  EXPECT_EQ(refusal([](auto& o) { o.polygenic_snps = 5; }),
            "[simulate] expected at least as many polygenic SNPs as traits (6), "
            "received 5");
  EXPECT_EQ(refusal([](auto& o) { o.loci = 601; }),
            "[simulate] expected 0 to 600 loci, received 601");
  EXPECT_EQ(refusal([](auto& o) { o.spacing = 1e8; }),
            "[simulate] expected chromosomes of at most 2000000000 bases, received "
            "20000000000");
  EXPECT_NE(refusal([](auto& o) {
              o.heritability = 0.1;
              o.locus_share = 0.1;
            }).find("which the 6 loci explain, received 0.1"),
            std::string::npos);
  EXPECT_NE(refusal([](auto& o) {
              o.people = 10'000'000;
              o.snps = 100'000'000;
              o.chromosomes = 1;
              o.spacing = 10;
            }).find("memory for the haplotypes of a chromosome"),
            std::string::npos);
  EXPECT_NE(input_error_of([] {
              family_shape("clan");
            }).find("trio, sibship, three-generations, cousins"),
            std::string::npos);
}

TEST(SimulateCohort, LeavesNothingWhereItIsStopped) {
  const TemporaryFolder folder;
  const std::atomic<bool> stop = true;
  EXPECT_THROW(write_simulated_cohort(folder.path("new"), small_options(),
                                      {.threads = 1, .stop = &stop}),
               Interrupted);
  EXPECT_TRUE(folder.files().empty());
}

TEST(SimulateCohort, PlinkReadsItAndFindsNoMendelianError) {
  if (std::system("command -v plink1.9 > /dev/null") != 0) {
    GTEST_SKIP() << "plink1.9 is not installed";
  }
  const TemporaryFolder folder;
  auto options = small_options();
  options.relatives = 0.8;
  write_simulated_cohort(folder.path("c"), options);
  const auto run = [&](const std::string& what) {
    return std::system(fmt::format("cd {} && plink1.9 --bfile cohort {} --out p "
                                   "> p.out 2> p.err",
                                   folder.path("c"), what)
                           .c_str()) == 0;
  };
  ASSERT_TRUE(run("--mendel")) << content_of(folder.path("c/p.out"));
  // A header and nothing else.
  std::istringstream errors(content_of(folder.path("c/p.mendel")));
  std::string line;
  EXPECT_TRUE(std::getline(errors, line));
  EXPECT_FALSE(std::getline(errors, line)) << line;
  EXPECT_NE(content_of(folder.path("c/p.fmendel")).find('\n'), std::string::npos);

  ASSERT_TRUE(run("--freq --nonfounders --keep-allele-order"));
  std::istringstream frequencies(content_of(folder.path("c/p.frq")));
  std::getline(frequencies, line);
  const auto counts = all_counts(folder.path("c/cohort"));
  const Genotypes genotypes(folder.path("c/cohort"));
  for (std::size_t j = 0; j < counts.size(); ++j) {
    std::string chromosome, id, a1, a2;
    double found = -1;
    std::int64_t observed = 0;
    frequencies >> chromosome >> id >> a1 >> a2 >> found >> observed;
    EXPECT_EQ(id, genotypes.variants()[j].id);
    EXPECT_EQ(a1, genotypes.variants()[j].a1);
    double sum = 0;
    std::int64_t alleles = 0;
    for (const auto count : counts[j]) {
      if (count == kMissingGenotype) continue;
      sum += count;
      alleles += 2;
    }
    EXPECT_EQ(observed, alleles);
    EXPECT_NEAR(found, sum / static_cast<double>(alleles), 1e-3 * found + 1e-6);
  }
}

}  // namespace
}  // namespace kinflow
