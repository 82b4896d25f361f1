// Tests streamed from files, against tests of the same genotypes in memory.
#include "kinflow/genetics/association_scan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/core/error.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/genetics/trait_values.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {
namespace {

constexpr int kPeople = 120, kVariants = 600;

/// A cohort on the disk with three traits, and null models of both kinds of sets.
class Scan : public ::testing::Test {
 protected:
  Scan() {
    auto content = random_content(kPeople, kVariants, 7);
    for (auto& count : content.counts[5]) count = 0;  // does not vary
    for (auto& count : content.counts[6]) count = kMissingGenotype;
    genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content));
    // Not everyone, and not in the order of the file.
    for (std::int64_t i = kPeople - 1; i >= 0; i -= 1 + (i % 7 == 0)) {
      people_.push_back(i);
    }
    for (std::int64_t v = 0; v < kVariants; ++v) variants_.push_back(v);
    const auto relationship = snp_relationship(*genotypes_, people_, variants_,
                                               {.kind = SnpRelationshipKind::centered});
    Random random(8);
    NamedColumns traits{{"a", "b", "c"}, {}};
    for (std::size_t i = 0; i < 3 * people_.size(); ++i) {
      traits.values.push_back(random.normal());
    }
    sets_ = {{"joint", traits}, {"single", traits, false}};
    covariates_ = with_intercept({}, static_cast<std::int64_t>(people_.size()));
    relationship_ = relationship.dense;
    tests_ = std::make_unique<AssociationTests>(relationship_, sets_, covariates_,
                                                TestKind::score);
  }

  struct Collected {
    std::vector<std::vector<double>> p{2};
    std::string lines;
  };
  Collected scan(std::int64_t threads) const {
    Collected all;
    scan_variants(*genotypes_, people_, variants_, *tests_, {.threads = threads},
                  [&](const ScannedBlock& block) {
                    for (std::size_t s = 0; s < 2; ++s) {
                      all.p[s].insert(all.p[s].end(), block.p[s].begin(),
                                      block.p[s].end());
                      all.lines += block.lines[s];
                    }
                  });
    return all;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Genotypes> genotypes_;
  std::vector<std::int64_t> people_, variants_;
  std::vector<TraitSet> sets_;
  NamedColumns covariates_;
  std::vector<double> relationship_;
  std::unique_ptr<AssociationTests> tests_;
};

TEST_F(Scan, GivesTheTestsOfImputedGenotypesInDoublePrecision) {
  auto centered = relationship_;
  const auto n = static_cast<std::int64_t>(people_.size());
  center_relationship(centered, n);
  const auto eigen = eigen_of_relationship(centered, n);
  const auto data = make_mixed_model_data(eigen, sets_[0].traits, covariates_);
  const FixedVarianceTest joint(data, fit_mixed_model(data, LikelihoodKind::full));
  const SingleTraitTests single(data, TestKind::score);
  const auto found = scan(1);
  std::vector<std::int8_t> counts(people_.size());
  for (std::int64_t v = 0; v < kVariants; ++v) {
    genotypes_->read(v, people_, counts.data());
    double sum = 0, known = 0;
    for (const auto count : counts) {
      if (count == kMissingGenotype) continue;
      sum += count;
      known += 1;
    }
    std::vector<double> snp;
    for (const auto count : counts) {
      snp.push_back(count == kMissingGenotype ? sum / known : count);
    }
    const auto at = static_cast<std::size_t>(v);
    if (v == 5 || v == 6) {
      EXPECT_TRUE(std::isnan(found.p[0][at]));
      EXPECT_TRUE(std::isnan(found.p[1][at]));
      continue;
    }
    const auto rotated = rotate(eigen, snp.data(), 1);
    SnpResults jointly;
    joint.test(rotated.data(), 1, jointly);
    SingleTraitResults one_by_one;
    single.test(rotated.data(), 1, one_by_one);
    EXPECT_NEAR(std::log10(found.p[0][at]), std::log10(jointly.p_value[0]), 1e-4);
    EXPECT_NEAR(std::log10(found.p[1][at]), std::log10(one_by_one.corrected_p[0]),
                1e-4);
  }
}

TEST_F(Scan, DoesNotDependOnThreads) {
  const auto one = scan(1), three = scan(3);
  EXPECT_EQ(one.lines, three.lines);
}

TEST_F(Scan, WritesFrequenciesAndCountsOfThesePeople) {
  const auto path = folder_.path("t.assoc.tsv");
  AssociationWriter writer(path, sets_[0].traits.names);
  scan_variants(*genotypes_, people_, variants_, *tests_, {},
                [&](const ScannedBlock& block) { writer.append(block.lines[0]); });
  writer.finish();
  AssociationReader reader(path);
  std::vector<std::int8_t> counts(people_.size());
  Association row;
  for (std::int64_t v = 0; v < kVariants; ++v) {
    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(row.id, genotypes_->variants()[static_cast<std::size_t>(v)].id);
    genotypes_->read(v, people_, counts.data());
    std::int64_t known = 0;
    double sum = 0;
    for (const auto count : counts) {
      if (count == kMissingGenotype) continue;
      ++known;
      sum += count;
    }
    EXPECT_EQ(row.people, known);
    if (known > 0) {
      EXPECT_NEAR(row.a1_frequency, sum / 2 / static_cast<double>(known), 1e-7);
    }
  }
  EXPECT_FALSE(reader.next(row));
}

TEST_F(Scan, StopsBetweenBlocks) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(
      scan_variants(*genotypes_, people_, variants_, *tests_,
                    {.threads = 2, .stop = &stop}, [](const ScannedBlock&) { FAIL(); }),
      Interrupted);
}

}  // namespace
}  // namespace kinflow
