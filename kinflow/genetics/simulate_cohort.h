// A simulated cohort: families and ancestry, genotypes with linkage disequilibrium,
// non-normal biomarkers and known causal loci.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/result_files.h"
#include "kinflow/genetics/simulate_families.h"
#include "kinflow/genetics/simulate_traits.h"

namespace kinflow {

/// Everything but the genotypes. Rows are the people of the .fam.
struct SimulatedCohort {
  SimulateCohortOptions options;
  std::vector<SimulatedFamily> families;
  std::vector<Person> people;
  std::vector<double> age;
  SimulatedTraits traits;
  std::vector<CausalEffect> effects;  ///< of the causal loci, along the genome
};

/// How the work is done; the cohort does not depend on it.
struct CohortWork {
  std::int64_t threads = 1;
  const std::atomic<bool>* stop = nullptr;  ///< Interrupted once it is true
};

/// Draws a cohort and writes its genotypes to PREFIX.bed, .bim and .fam, one chromosome
/// at a time. InputError for bad options, files that cannot be written, and too little
/// memory for the haplotypes of a chromosome, 2 bits a genotype.
SimulatedCohort simulate_cohort(const SimulateCohortOptions& options,
                                const std::string& prefix, const CohortWork& work = {});

/// Draws a cohort into a folder, which is made where it is missing: cohort.bed, .bim
/// and .fam; pheno.tsv (FID, IID and biomarkers, NA where missing); covar.tsv (FID,
/// IID, age, sex); truth.tsv (an effect of a causal locus a line); latents.tsv (FID,
/// IID, latents u1, ... and their genetic parts g1, ...); pedigree.tsv (everyone, also
/// parents who are not in the cohort); report.txt. All this in place of what is
/// `replaced`. InputError as above; then no new folder remains.
SimulatedCohort write_simulated_cohort(const std::string& directory,
                                       const SimulateCohortOptions& options,
                                       const CohortWork& work = {},
                                       const ResultFiles& replaced = {});
/// All files that write_simulated_cohort() writes.
ResultFiles cohort_files(const std::string& directory);

/// What was drawn, in a few lines.
std::string cohort_report(const SimulatedCohort& cohort);

}  // namespace kinflow
