// What a simulated cohort is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/random.h"

namespace kinflow {

/// A family of which these people are in the cohort: a trio both parents and a child;
/// a sibship two to four siblings; three generations two grandparents, their child with
/// a partner, and two grandchildren; cousins two siblings and their two cousins, also
/// siblings. The others are in the pedigree only.
enum class FamilyShape { trio, sibship, three_generations, cousins };

/// "trio", "sibship", "three-generations", "cousins".
std::string family_shape_name(FamilyShape shape);
/// The shape of that name; throws InputError that lists them.
FamilyShape family_shape(const std::string& name);
std::vector<FamilyShape> all_family_shapes();

struct SimulateCohortOptions {
  std::int64_t people = 2000;     ///< in the cohort, at least 10
  std::int64_t snps = 10000;      ///< at least as many as chromosomes
  std::int64_t chromosomes = 22;  ///< autosomes, 1 to 22
  /// The last ones, without any effect on the traits; fewer than all.
  std::int64_t null_chromosomes = 0;
  std::uint64_t seed = 0;

  // Families.
  double relatives = 0.4;  ///< share of the people who live in families
  std::vector<FamilyShape> families = all_family_shapes();  ///< equally likely

  // Ancestry: frequencies of the Balding-Nichols model.
  std::int64_t populations = 3;
  double fst = 0.05;     ///< [0, 1); 0: all populations have the same frequencies
  double admixed = 0.2;  ///< share of families with ancestors in several populations
  double lowest_frequency = 0.05;  ///< of both alleles before populations drift apart

  // Linkage disequilibrium.
  double spacing = 10000;     ///< mean distance of neighbouring SNPs, bases
  double ld_length = 100000;  ///< latent correlation of alleles is e^(-distance/this)
  std::int64_t ancestral_haplotypes = 256;  ///< of each population

  double missing_calls = 0.005;  ///< share of genotypes

  // Latents, each of variance 1: heritability + family environment + noise.
  std::int64_t traits = 6;
  std::int64_t loci = 20;  ///< causal SNPs, on one to three traits each
  std::int64_t polygenic_snps =
      2000;                   ///< with small effects; all where there are fewer
  double heritability = 0.5;  ///< loci included
  double locus_share =
      0.01;  ///< mean share of a trait's variance that a locus explains
  double genetic_correlation = 0.4;      ///< of the polygenic parts of any two traits
  double environment_correlation = 0.2;  ///< of family environment and noise
  double family_environment = 0.1;       ///< share of variance

  // Biomarkers.
  double curvature = 1;           ///< of the relation within pairs of traits
  double covariate_effect = 0.2;  ///< typical effect of age and sex, in deviations
  double missing_values = 0.02;   ///< share of biomarkers
};

/// Throws InputError for options outside their ranges.
void check_cohort_options(const SimulateCohortOptions& options);

/// What random numbers of a cohort are for.
enum class CohortPart : std::uint64_t {
  families,
  sites,
  ancestral_haplotypes,
  haplotypes,
  missing_calls,
  loci,
  effects,
  environment,
  covariates,
  missing_values
};

/// The random numbers of one part, chromosome and unit, such as a family.
inline Random cohort_random(std::uint64_t seed, CohortPart part,
                            std::int64_t chromosome = 0, std::int64_t unit = 0) {
  return Random(seed, stream(Purpose::cohort, (static_cast<std::int64_t>(part) << 40) +
                                                  (chromosome << 32) + unit));
}

}  // namespace kinflow
