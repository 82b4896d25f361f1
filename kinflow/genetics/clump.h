// Loci: variants that are associated with a trait, grouped by their correlation with
// the strongest one nearby.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kinflow/genetics/association_file.h"
#include "kinflow/genetics/chromosomes.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// What makes a locus; the names are those of plink's --clump.
struct ClumpOptions {
  double p1 = 5e-8;  ///< largest p-value of an index variant, above 0 to 1
  double p2 = 0.01;  ///< members with smaller p-values are listed, above 0 to 1
  double r2 = 0.1;   ///< members have a larger r2 with the index variant, 0 to below 1
  double kb = 250;   ///< and are closer to it than this, above 0
  int autosomes = kHumanAutosomes;
};

/// An index variant and those that belong to it. Variants are rows of the .bim.
struct Locus {
  std::int64_t index = 0;
  double log10_p = 0;      ///< -log10 of the p-value of the index variant
  std::int64_t start = 0;  ///< position of the first of index and members
  std::int64_t end = 0;    ///< of the last
  /// How many variants belong to the index variant, whatever their p-values.
  std::int64_t total = 0;
  /// Those of them with p-values below p2, in the order of the chromosome.
  std::vector<std::int64_t> members;
};

/// Loci as plink 1.9's --clump finds them, those with the smallest p-values first. The
/// variant with the smallest p-value becomes an index; variants near it that are
/// correlated with it belong to it and to no other; then the next that is left. r2 is
/// that of haplotype_r2() over the given people; in X males have one chromosome, in Y
/// only males have any, and their heterozygous calls are missing.
/// @param people  rows of the .fam, e.g. founders()
/// @param log10_p  -log10 of the p-value of each variant of the .bim; NaN: not tested,
///                 in no locus
/// InputError where an option is out of its range, there are no people, or log10_p has
/// another length.
std::vector<Locus> clump(const Genotypes& genotypes,
                         std::span<const std::int64_t> people,
                         std::span<const double> log10_p,
                         const ClumpOptions& options = {});

/// Rows of the people without parents, over whom plink computes r2.
std::vector<std::int64_t> founders(const Genotypes& genotypes);

/// P-values of a table, by variant.
struct MatchedTests {
  /// [variants of the .bim] -log10 of p-values; NaN: none
  std::vector<double> log10_p;
  std::int64_t rows = 0;            ///< of the table
  std::int64_t untested = 0;        ///< rows without a p-value
  std::int64_t zeros = 0;           ///< rows with a p-value of 0 and no logarithm of it
  std::int64_t unknown = 0;         ///< rows of variants that the .bim does not have
  std::int64_t unknown_index = 0;   ///< those of them with p-values up to p1
  std::string first_unknown_index;  ///< id of the first of these
  /// Rows of variants that stand at another place in the .bim, and the first of them:
  /// "'rs1' (1:4419 here, 2:777 there)".
  std::int64_t elsewhere = 0;
  std::string first_elsewhere;
};

/// Reads all rows of a table and matches them by variant id; where an id stands several
/// times in the .bim, by chromosome, position and alleles too, as far as the table has
/// them. Rows of the .bim that are the same in all of these take the rows of the table
/// in their order, where there are as many. InputError, with file and line, for a
/// variant that has two rows, and for one of several that cannot be told apart; and
/// where there is no row or the .bim has none of the variants.
MatchedTests match_tests(const std::string& path, const AssociationFields& fields,
                         const Genotypes& genotypes, const ClumpOptions& options);

/// Writes LOCUS ID CHROM POS START END P LOG10P N_SNPS TOTAL MEMBERS, a line for each
/// locus and tabs between. LOCUS counts from 1; N_SNPS are the index variant and the
/// members, whose ids stand in MEMBERS with commas between, or NONE; TOTAL is plink's,
/// see Locus::total.
void write_loci(const std::string& path, const std::vector<Locus>& loci,
                const std::vector<Variant>& variants);

}  // namespace kinflow
