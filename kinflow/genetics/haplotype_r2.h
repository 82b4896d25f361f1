// Squared correlation of the alleles of two variants on the same chromosome, from
// genotypes whose phase is not known.
#pragma once

#include <optional>

namespace kinflow {

/// What genotypes tell of the haplotypes of two variants: how often alleles stand on
/// one chromosome for sure, and how many people are heterozygous in both, whose two
/// haplotypes are either a1 a1 and a2 a2, or a1 a2 and a2 a1.
struct HaplotypeCounts {
  double a1_a1 = 0;
  double a1_a2 = 0;
  double a2_a1 = 0;
  double a2_a2 = 0;
  double double_heterozygotes = 0;
};

/// r2 of the haplotype frequencies of largest likelihood, as plink 1.9 has it in
/// --clump and in --r2 dprime. Nothing where a variant shows one allele only.
std::optional<double> haplotype_r2(const HaplotypeCounts& counts);

}  // namespace kinflow
