// Genotypes of X, Y and MT by the sex of people.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kinflow/genetics/chromosomes.h"
#include "kinflow/genetics/genotype_counts.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// A call as far as it can be true: males have one X and one Y, of which they are not
/// heterozygous, and others have no Y; such calls are missing. `count` is a number of
/// a1 alleles or kMissingGenotype.
constexpr std::int8_t possible_count(std::int8_t count, ChromosomeKind kind, int sex) {
  const bool is_male = sex == kMale;
  const bool is_impossible = (kind == ChromosomeKind::x && is_male && count == 1) ||
                             (kind == ChromosomeKind::y && (!is_male || count == 1));
  return is_impossible ? kMissingGenotype : count;
}

/// The genotypes of chosen people as association tests take them. On X males count 0 or
/// 2, as if their allele were there twice, and people of unknown sex are missing; calls
/// that cannot be true are missing (possible_count()). Mixed calls of MT stay.
/// Threads may ask at the same time.
class SexedGenotypes {
 public:
  /// @param people  rows of the .fam; both must stay as long as this
  SexedGenotypes(const Genotypes& genotypes, std::span<const std::int64_t> people,
                 int autosomes);

  /// [people] 0, 1, 2 or kMissingGenotype.
  void read(std::int64_t variant, std::int8_t* counts) const;
  /// How often each occurs in read().
  GenotypeCounts count(std::int64_t variant) const;
  /// The share of a1 among the known alleles, of which males have one on X and Y; NaN
  /// where none is known.
  double a1_frequency(std::int64_t variant) const;

  ChromosomeKind kind_of(std::int64_t variant) const;

 private:
  GenotypeCounts males_as_haploid(std::int64_t variant) const;

  const Genotypes& genotypes_;
  std::span<const std::int64_t> people_;
  int autosomes_;
  PeopleMask everyone_, males_, females_;
};

/// What the sex of people leaves out, over some people and variants.
struct HaploidCalls {
  std::int64_t x_variants = 0, y_variants = 0, mt_variants = 0;
  std::int64_t unknown_sex = 0;     ///< people, where there are variants of X or Y
  std::int64_t x_heterozygous = 0;  ///< calls of males
  std::int64_t y_heterozygous = 0;  ///< calls of males
  std::int64_t y_of_others = 0;     ///< calls of people who are not male
  std::int64_t mt_mixed = 0;        ///< heterozygous calls, which are not left out
};
HaploidCalls count_haploid_calls(const Genotypes& genotypes,
                                 std::span<const std::int64_t> people,
                                 std::span<const std::int64_t> variants, int autosomes);

}  // namespace kinflow
