// Rotated genotypes against products in double precision.
#include "kinflow/genetics/genotype_rotation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kinflow/core/random.h"

namespace kinflow {
namespace {

constexpr InstructionSet kSets[] = {InstructionSet::portable, InstructionSet::avx2,
                                    InstructionSet::avx512};

std::vector<double> random_vectors(std::int64_t people) {
  Random random(3);
  std::vector<double> vectors(static_cast<std::size_t>(people * people));
  for (auto& value : vectors) {
    value = random.normal() / std::sqrt(static_cast<double>(people));
  }
  return vectors;
}

void add_counts(std::span<const std::int8_t> genotypes, GenotypeBlock& block) {
  GenotypeCounts counts;
  for (const auto genotype : genotypes) {
    if (genotype == 2) ++counts.homozygous_a1;
    if (genotype == 1) ++counts.heterozygous;
    if (genotype == 0) ++counts.homozygous_a2;
    if (genotype == kMissingGenotype) ++counts.missing;
  }
  block.counts.push_back(counts);
  block.genotypes.insert(block.genotypes.end(), genotypes.begin(), genotypes.end());
}

/// Variants of all frequencies; every third one has missing genotypes.
GenotypeBlock random_block(std::int64_t people, int variants) {
  Random random(4);
  GenotypeBlock block;
  for (int v = 0; v < variants; ++v) {
    std::vector<std::int8_t> genotypes;
    const double frequency = (v + 1.0) / (variants + 1.0);
    for (std::int64_t i = 0; i < people; ++i) {
      const int count = (random.uniform() < frequency) + (random.uniform() < frequency);
      const bool is_missing = v % 3 == 0 && random.uniform() < 0.2;
      genotypes.push_back(is_missing ? kMissingGenotype
                                     : static_cast<std::int8_t>(count));
    }
    add_counts(genotypes, block);
  }
  return block;
}

/// Centred, with missing genotypes as the mean.
std::vector<double> centered(const GenotypeBlock& block, std::size_t variant,
                             std::size_t people) {
  const double mean = 2 * block.counts[variant].a1_frequency();
  std::vector<double> values;
  for (std::size_t i = 0; i < people; ++i) {
    const auto genotype = block.genotypes[variant * people + i];
    values.push_back(genotype == kMissingGenotype ? 0 : genotype - mean);
  }
  return values;
}

std::vector<double> rotate(const std::vector<double>& vectors, std::int64_t people,
                           const GenotypeBlock& block, InstructionSet set) {
  GenotypeRotation::Scratch scratch;
  std::vector<double> rotated(static_cast<std::size_t>(people * block.variants()));
  GenotypeRotation(vectors, people, set).rotate(block, scratch, rotated.data());
  return rotated;
}

TEST(GenotypeRotation, EqualsTheProductForAnyNumberOfPeople) {
  // Around whole panels and passes.
  for (const std::int64_t people : {1, 15, 16, 17, 47, 48, 49, 131}) {
    const auto vectors = random_vectors(people);
    const auto block = random_block(people, 20);
    const auto n = static_cast<std::size_t>(people);
    for (const auto set : kSets) {
      const auto rotated = rotate(vectors, people, block, set);
      for (std::size_t v = 0; v < block.counts.size(); ++v) {
        const auto snp = centered(block, v, n);
        for (std::size_t j = 0; j < n; ++j) {
          double expected = 0;
          for (std::size_t i = 0; i < n; ++i) expected += vectors[j * n + i] * snp[i];
          ASSERT_NEAR(rotated[v * n + j], expected, 2e-6) << people << " people";
        }
      }
    }
  }
}

TEST(GenotypeRotation, IsExactlyZeroForVariantsThatDoNotVary) {
  constexpr std::int64_t kPeople = 50;
  GenotypeBlock block;
  for (const std::int8_t genotype : {0, 1, 2, -1}) {
    std::vector<std::int8_t> genotypes(kPeople, genotype);
    add_counts(genotypes, block);
    genotypes[7] = kMissingGenotype;
    add_counts(genotypes, block);
  }
  for (const double value :
       rotate(random_vectors(kPeople), kPeople, block, InstructionSet::best)) {
    EXPECT_EQ(value, 0);
  }
}

TEST(GenotypeRotation, OfAVariantDoesNotDependOnTheOthers) {
  constexpr std::int64_t kPeople = 70;
  const auto vectors = random_vectors(kPeople);
  const auto block = random_block(kPeople, 9);
  const auto together = rotate(vectors, kPeople, block, InstructionSet::best);
  for (std::size_t v = 0; v < block.counts.size(); ++v) {
    GenotypeBlock alone;
    add_counts(std::span(block.genotypes).subspan(v * kPeople, kPeople), alone);
    const auto rotated = rotate(vectors, kPeople, alone, InstructionSet::best);
    for (std::size_t j = 0; j < kPeople; ++j) {
      EXPECT_EQ(rotated[j], together[v * kPeople + j]);
    }
  }
}

TEST(GenotypeRotation, IsAsAccurateForRareVariants) {
  constexpr std::int64_t kPeople = 400;
  const auto vectors = random_vectors(kPeople);
  for (const std::int8_t common : {0, 2}) {
    std::vector<std::int8_t> genotypes(kPeople, common);
    genotypes[123] = 1;
    GenotypeBlock block;
    add_counts(genotypes, block);
    const auto rotated = rotate(vectors, kPeople, block, InstructionSet::best);
    const auto snp = centered(block, 0, kPeople);
    double error = 0, size = 0;
    for (std::size_t j = 0; j < kPeople; ++j) {
      double expected = 0;
      for (std::size_t i = 0; i < kPeople; ++i) {
        expected += vectors[j * kPeople + i] * snp[i];
      }
      error += std::pow(rotated[j] - expected, 2);
      size += expected * expected;
    }
    EXPECT_LT(std::sqrt(error / size), 1e-6);
  }
}

}  // namespace
}  // namespace kinflow
