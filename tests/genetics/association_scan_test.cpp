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

constexpr int kScannedPeople = 120, kVariants = 600;

/// A cohort on the disk with three traits, and null models of both kinds of sets.
class Scan : public ::testing::Test {
 protected:
  Scan() {
    auto content = random_content(kScannedPeople, kVariants, 7);
    for (auto& count : content.counts[5]) count = 0;  // does not vary
    for (auto& count : content.counts[6]) count = kMissingGenotype;
    genotypes_ = std::make_unique<Genotypes>(write_bed(folder_, "t", content));
    // Not everyone, and not in the order of the file.
    for (std::int64_t i = kScannedPeople - 1; i >= 0; i -= 1 + (i % 7 == 0)) {
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
    std::vector<std::vector<double>> log10_p{2};
    std::string lines;
  };
  Collected scan(std::int64_t threads) const {
    Collected all;
    scan_variants(*genotypes_, people_, variants_, *tests_, {.threads = threads},
                  [&](const ScannedBlock& block) {
                    for (std::size_t s = 0; s < 2; ++s) {
                      all.log10_p[s].insert(all.log10_p[s].end(),
                                            block.log10_p[s].begin(),
                                            block.log10_p[s].end());
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

/// Expects the same tests and null models of traits in other units.
void expect_same_in_units(const AssociationTests& plain, const AssociationTests& other,
                          const GenotypeBlock& block, double trait_unit,
                          double relationship_unit) {
  AssociationTests::Scratch scratch;
  std::vector<SnpResults> expected, found;
  plain.test(block, scratch, expected);
  other.test(block, scratch, found);
  for (std::size_t set = 0; set < expected.size(); ++set) {
    for (std::size_t i = 0; i < expected[set].log10_p.size(); ++i) {
      if (std::isnan(expected[set].log10_p[i])) continue;
      ASSERT_NEAR(found[set].log10_p[i], expected[set].log10_p[i], 1e-4);
    }
    for (std::size_t i = 0; i < expected[set].effects.size(); ++i) {
      if (std::isnan(expected[set].effects[i])) continue;
      const double error = expected[set].standard_errors[i];
      ASSERT_NEAR(found[set].effects[i] / trait_unit, expected[set].effects[i],
                  1e-4 * error);
      ASSERT_NEAR(found[set].standard_errors[i] / trait_unit / error, 1, 1e-4);
    }
  }
  for (std::size_t m = 0; m < plain.null_models().size(); ++m) {
    const auto& model = plain.null_models()[m].fit;
    const auto& same = other.null_models()[m].fit;
    const auto d = static_cast<double>(plain.null_models()[m].traits.size());
    EXPECT_TRUE(same.has_converged);
    const auto& heritability = plain.null_models()[m].heritability;
    ASSERT_EQ(static_cast<double>(heritability.size()), d);
    for (std::size_t t = 0; t < heritability.size(); ++t) {
      EXPECT_NEAR(other.null_models()[m].heritability[t], heritability[t], 1e-4);
    }
    EXPECT_NEAR(same.log_likelihood +
                    static_cast<double>(plain.people()) * d * std::log(trait_unit),
                model.log_likelihood, 1e-4);
    const double scale = trait_unit * trait_unit;
    for (std::size_t i = 0; i < model.variances.residual.size(); ++i) {
      EXPECT_NEAR(same.variances.genetic[i] / scale * relationship_unit,
                  model.variances.genetic[i], 1e-4);
      EXPECT_NEAR(same.variances.residual[i] / scale, model.variances.residual[i],
                  1e-4);
    }
  }
}

TEST_F(Scan, TellsNullModelsInTheUnitsThatWereGiven) {
  const auto n = static_cast<std::int64_t>(people_.size());
  NamedColumns age{{"age"}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    age.values.push_back(static_cast<double>(40 + 13 * i % 37));
  }
  auto traits = sets_[0].traits;
  for (std::size_t i = 0; i < traits.values.size(); ++i) {
    traits.values[i] = 5 + 3 * traits.values[i] + 0.1 * age.values[i % people_.size()];
  }
  const auto covariates = with_intercept(age, n);
  auto relationship = relationship_;
  for (double& value : relationship) value *= 7;
  const AssociationTests tests(relationship, {{"joint", traits}}, covariates,
                               TestKind::score);
  center_relationship(relationship, n);
  const auto expected = fit_mixed_model(
      make_mixed_model_data(eigen_of_relationship(relationship, n), traits, covariates),
      LikelihoodKind::full);
  const auto& found = tests.null_models()[0].fit;
  double diagonal = 0;  // mean of the centred relationship's
  for (std::int64_t i = 0; i < n; ++i) {
    diagonal +=
        relationship[static_cast<std::size_t>(i * n + i)] / static_cast<double>(n);
  }
  const auto order = traits.names.size();
  for (std::size_t t = 0; t < order; ++t) {
    const double genetic = diagonal * expected.variances.genetic[t * order + t];
    EXPECT_NEAR(tests.null_models()[0].heritability[t],
                genetic / (genetic + expected.variances.residual[t * order + t]), 1e-4);
  }
  EXPECT_NEAR(found.log_likelihood, expected.log_likelihood, 1e-6);
  EXPECT_NEAR(found.canonical.log_det_residual, expected.canonical.log_det_residual,
              1e-3);
  const auto expect_near = [](const auto& left, const auto& right) {
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) EXPECT_NEAR(left[i], right[i], 1e-3);
  };
  expect_near(found.variances.genetic, expected.variances.genetic);
  expect_near(found.variances.residual, expected.variances.residual);
  expect_near(found.coefficients, expected.coefficients);
  expect_near(found.canonical.ratios, expected.canonical.ratios);
  expect_near(variances_of(found.canonical).genetic, expected.variances.genetic);
  expect_near(variances_of(found.canonical).residual, expected.variances.residual);
}

TEST_F(Scan, DoesNotDependOnUnits) {
  const auto n = people_.size();
  Random random(9);
  NamedColumns covariates{{"age", "time"}, {}};
  for (std::size_t i = 0; i < 2 * n; ++i) covariates.values.push_back(random.normal());
  // Relatives are alike, so that no variance is at an end of its range.
  for (auto& set : sets_) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t i = 1; i < n; ++i) {
        for (std::size_t k = 0; k < 20; ++k) {
          set.traits.values[j * n + i] += 0.5 * relationship_[i * n + (k + 7 * j)];
        }
      }
    }
  }
  const PeopleMask mask(people_, kScannedPeople);
  GenotypeBlock block;
  for (std::int64_t v = 0; v < 60; ++v) {
    block.genotypes.resize(block.genotypes.size() + n);
    genotypes_->read(v, people_, &block.genotypes[block.genotypes.size() - n]);
    block.counts.push_back(mask.count(genotypes_->packed(v)));
  }
  const auto rows = static_cast<std::int64_t>(n);
  for (const auto kind : {TestKind::score, TestKind::wald}) {
    const AssociationTests plain(relationship_, sets_, with_intercept(covariates, rows),
                                 kind);
    for (const double unit : {1e-10, 1e-5, 1e5, 1e30}) {
      auto relationship = relationship_;
      for (double& value : relationship) value *= unit;
      expect_same_in_units(
          plain, {relationship, sets_, with_intercept(covariates, rows), kind}, block,
          1, unit);
    }
    for (const double unit : {1e-90, 1e-3, 1e90}) {
      auto sets = sets_;
      for (auto& set : sets) {
        for (double& value : set.traits.values) value = unit * (value + 20);
      }
      auto others = covariates;
      for (std::size_t i = 0; i < n; ++i) {
        others.values[i] *= 1 / unit;
        others.values[n + i] = 1.6e9 + 300 * others.values[n + i];
      }
      expect_same_in_units(plain,
                           {relationship_, sets, with_intercept(others, rows), kind},
                           block, unit, 1);
    }
  }
}

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
      EXPECT_TRUE(std::isnan(found.log10_p[0][at]));
      EXPECT_TRUE(std::isnan(found.log10_p[1][at]));
      continue;
    }
    const auto rotated = rotate(eigen, snp.data(), 1);
    SnpResults jointly;
    joint.test(rotated.data(), 1, jointly);
    SingleTraitResults one_by_one;
    single.test(rotated.data(), 1, one_by_one);
    EXPECT_NEAR(found.log10_p[0][at], jointly.log10_p[0], 1e-4);
    EXPECT_NEAR(found.log10_p[1][at], one_by_one.corrected_log10_p[0], 1e-4);
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
