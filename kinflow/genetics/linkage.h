// Linkage disequilibrium: correlation of variants, and pruning by it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kinflow/genetics/chromosomes.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// The genotypes of a variant, a bit for each person, for r_squared().
class VariantBits {
 public:
  /// @param counts  of one person after the other, as Genotypes::read() gives them
  explicit VariantBits(std::span<const std::int8_t> counts);
  /// @param people  rows of the .fam
  VariantBits(const Genotypes& genotypes, std::int64_t variant,
              std::span<const std::int64_t> people);

  /// True where at least two different genotypes are known.
  bool varies() const { return varies_; }

 private:
  friend double r_squared(const VariantBits& left, const VariantBits& right);

  bool varies_ = false;
  bool has_missing_ = false;
  std::size_t words_;
  // Three planes of words: known, heterozygous, two alleles a1.
  std::vector<std::uint64_t> planes_;
  // Sums over all people.
  std::int64_t known_ = 0, sum_ = 0, squares_ = 0;
};

/// The squared correlation of the numbers of alleles over the people whose genotypes
/// are known for both, who must be the same people in the same order. 0 where one of
/// them does not vary among these.
double r_squared(const VariantBits& left, const VariantBits& right);

struct LinkagePruning {
  double largest_r_squared = 0.8;
  double window_kb = 500;
  int autosomes = kHumanAutosomes;
  bool with_nonfounders = false;  ///< compare everyone, not founders only
};

/// The variants that are left, in their order, when of every two of a chromosome within
/// the window whose correlation is larger the one with the rarer allele goes, in the
/// order of plink's --indep-pairwise WINDOWkb 1 R2. Heterozygous males on X are
/// missing, and on Y everyone but homozygous males. A variant that does not vary goes
/// too. InputError where positions decrease within a chromosome. Uses shared_workers(),
/// a chromosome at a time each.
/// @param people  rows of the .fam, of whom founders are taken
/// @param variants  rows of the .bim, increasing
std::vector<std::int64_t> prune_by_linkage(const Genotypes& genotypes,
                                           std::span<const std::int64_t> people,
                                           std::span<const std::int64_t> variants,
                                           const LinkagePruning& options);

}  // namespace kinflow
