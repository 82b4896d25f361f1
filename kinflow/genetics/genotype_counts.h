// How often each genotype of a variant occurs among chosen people.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kinflow/genetics/chromosomes.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

struct GenotypeCounts {
  std::int64_t homozygous_a1 = 0, heterozygous = 0, homozygous_a2 = 0, missing = 0;

  std::int64_t known() const { return homozygous_a1 + heterozygous + homozygous_a2; }
  std::int64_t people() const { return known() + missing; }
  /// The share of a1 among the known alleles; NaN where none is known.
  double a1_frequency() const;

  bool operator==(const GenotypeCounts&) const = default;
};

/// A set of people in the layout of a .bed, for counting 32 at a time.
class PeopleMask {
 public:
  /// @param people  rows of the .fam, each at most once, in any order
  /// @param people_in_file  of the .fam
  PeopleMask(std::span<const std::int64_t> people, std::size_t people_in_file);

  /// The genotypes of the set in a row of the .bed (Genotypes::packed).
  GenotypeCounts count(std::span<const std::uint8_t> row) const;
  std::int64_t people() const { return people_; }

 private:
  std::vector<std::uint64_t> words_;  // the lower bit of everybody in the set
  std::int64_t people_ = 0;
};

/// The p-value of the exact test of Hardy-Weinberg equilibrium (Wigginton and others,
/// 2005): the probability, given the alleles, of numbers of heterozygotes that are at
/// most as likely as the one observed. 1 where nothing is known; 0 below 1e-300.
double hardy_weinberg_p(const GenotypeCounts& counts);

/// Counts of variants over chosen people by plink's rules: frequencies and
/// Hardy-Weinberg tests are of founders, missing genotypes of everyone. On X males have
/// one allele, heterozygous ones none that is known, and only the others are tested; on
/// Y only males count; Y and MT are not tested. Threads may ask at the same time.
class VariantCounter {
 public:
  /// @param with_nonfounders  count everyone in place of founders
  VariantCounter(const Genotypes& genotypes, std::span<const std::int64_t> people,
                 int autosomes = kHumanAutosomes, bool with_nonfounders = false);

  /// The share of missing genotypes; 0 where nobody can have one.
  double missing_share(std::int64_t variant) const;
  /// The share of a1 among the known alleles; NaN where none is known.
  double a1_frequency(std::int64_t variant) const;
  /// That of the rarer allele; 0 where none is known.
  double minor_frequency(std::int64_t variant) const;
  /// How often the rarer allele is known.
  double minor_count(std::int64_t variant) const;
  double hardy_weinberg_p(std::int64_t variant) const;

  /// Those of the people whose alleles give frequencies.
  std::int64_t founders() const { return founders_.people(); }

 private:
  /// Alleles a1 among those that are known.
  struct Alleles {
    std::int64_t a1, known;
  };
  Alleles alleles(std::int64_t variant) const;
  ChromosomeKind kind_of(std::int64_t variant) const;

  const Genotypes& genotypes_;
  int autosomes_;
  PeopleMask everyone_, males_, founders_, founder_males_, founder_others_;
};

}  // namespace kinflow
