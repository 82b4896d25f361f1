// Latents and biomarkers of a simulated cohort.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/genetics/simulate_haplotypes.h"

namespace kinflow {

/// What a causal SNP does to one trait.
struct CausalEffect {
  std::int64_t locus = 0;  ///< from 0; a locus has one to three effects
  std::int64_t snp = 0;    ///< number in the .bim, from 0
  Variant variant;
  double frequency = 0;  ///< of a1 in the cohort
  std::int64_t trait = 0;
  double effect = 0;  ///< of one a1 allele on the latent
  double share = 0;   ///< of the latent's variance
};

/// Adds up the genetic parts of the latents, chromosome by chromosome.
class GeneticValues {
 public:
  /// InputError where the loci explain more than the heritability.
  explicit GeneticValues(const SimulateCohortOptions& options);

  /// Chooses loci and SNPs of small effect on this chromosome, spread evenly over those
  /// that are not null, and adds what they do. Call for all in order.
  void add(const SimulatedChromosome& chromosome);

  const std::vector<CausalEffect>& effects() const { return effects_; }
  /// [people x traits]: the loci, and polygenic parts whose sample covariance is
  /// exactly what the options ask for.
  std::vector<double> finish();

 private:
  void add_locus(const SimulatedChromosome& chromosome, std::int64_t locus,
                 std::int64_t first, std::int64_t last, Random& random);
  void add_small_effect(const SimulatedChromosome& chromosome, std::int64_t snp,
                        Random& random);
  /// Adds effects[trait] x count of alleles, centred, of everyone.
  void add_effects(std::vector<double>& values, const std::vector<double>& effects,
                   double mean) const;

  SimulateCohortOptions options_;
  std::int64_t polygenic_snps_;
  std::vector<CausalEffect> planned_;  ///< without their SNPs, by locus
  std::vector<CausalEffect> effects_;
  std::vector<double> explained_;  ///< by loci, of each trait
  std::vector<double> loci_, polygenic_;
  std::vector<std::int8_t> counts_;
};

/// Age and sex of a person with the effects that these have.
struct CovariateEffects {
  std::vector<double> age;  ///< of one year on each biomarker, in its units
  std::vector<double> sex;  ///< of women against men
};

struct SimulatedTraits {
  std::vector<double> genetic;     ///< part of the latents, [people x traits]
  std::vector<double> latents;     ///< [people x traits]
  std::vector<double> biomarkers;  ///< [people x traits], NaN where missing
  CovariateEffects covariates;
};

/// Latents are the genetic values, a normal environment that a family has in common,
/// and normal noise. Then biomarkers:
/// - traits 2 k and 2 k + 1 (from 0) get a curved relation: the second becomes
///   (u + curvature c(v)) / sqrt(1 + curvature^2) of its latent u and the other's
///   latent v, where c is in turn a parabola, |v| and a sine, of variance 1;
/// - marginals are in turn log-normal e^0.6x, gamma-like (Wilson-Hilferty, shape 2),
///   bounded 1 / (1 + e^-2x) and heavy-tailed sinh x;
/// - effects of age and sex are added, and values go missing.
SimulatedTraits simulate_traits(const SimulateCohortOptions& options,
                                const std::vector<SimulatedFamily>& families,
                                std::vector<double> genetic);

/// The map of one person's latents to biomarkers without covariates, in place.
void bend_latents(double curvature, std::span<double> latents);

}  // namespace kinflow
