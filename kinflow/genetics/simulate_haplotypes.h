// Haplotypes of a simulated cohort, one chromosome at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kinflow/core/workers.h"
#include "kinflow/genetics/simulate_families.h"

namespace kinflow {

/// Recombination within families, and between the ancestors of admixed founders.
inline constexpr double kChromosomeMorgans = 1.5;
inline constexpr double kAdmixtureGenerations = 10;
/// Mean length of the pieces of ancestral haplotypes of which founders are made.
inline constexpr double kMosaicBases = 1e6;

/// Rows of bits, each row in words of its own.
class BitRows {
 public:
  BitRows() = default;
  BitRows(std::int64_t rows, std::int64_t bits)
      : words_(static_cast<std::size_t>((bits + 63) / 64)),
        data_(static_cast<std::size_t>(rows) * words_) {}

  std::size_t words() const { return words_; }
  std::uint64_t* row(std::int64_t index) {
    return data_.data() + static_cast<std::size_t>(index) * words_;
  }
  const std::uint64_t* row(std::int64_t index) const {
    return data_.data() + static_cast<std::size_t>(index) * words_;
  }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> data_;
};

/// The SNPs of a chromosome.
struct ChromosomeSites {
  std::vector<Variant> variants;
  std::vector<double> morgans;
  std::vector<double> frequency;  ///< of a1, before populations drift apart
  std::vector<bool> is_flipped;   ///< a1 goes with the a2 alleles of its neighbours
};

struct SimulatedChromosome {
  std::int64_t number = 0;  ///< from 0
  ChromosomeSites sites;
  /// a1 alleles: rows 2 i and 2 i + 1 are the haplotypes of the cohort's person i.
  BitRows haplotypes;

  std::int64_t snps() const { return std::ssize(sites.variants); }
};

/// The SNPs of chromosome c are numbers c M / C to (c + 1) M / C - 1 of all.
std::int64_t first_snp(const SimulateCohortOptions& options, std::int64_t chromosome);

/// Positions have exponential distances. Frequencies of populations follow the
/// Balding-Nichols model. Each population has ancestral haplotypes whose alleles are
/// the least of a stationary Gaussian process along the chromosome at every SNP, as
/// many as the frequency says. Founders are mosaics of them, and of populations by
/// their ancestry; children get a haplotype of each parent, with crossovers at the
/// points of a Poisson process. The same for any number of threads.
SimulatedChromosome simulate_chromosome(const SimulateCohortOptions& options,
                                        const std::vector<SimulatedFamily>& families,
                                        std::int64_t chromosome, Workers& workers);

/// Numbers of a1 alleles of all people.
void allele_counts(const SimulatedChromosome& chromosome, std::int64_t snp,
                   std::span<std::int8_t> counts);

/// Rows of a .bed file, one after the other, of the SNPs 64 `block` to 64 `block` + 63
/// or the last, with calls missing at the rate of the options.
std::string packed_rows(const SimulateCohortOptions& options,
                        const SimulatedChromosome& chromosome, std::int64_t block);

}  // namespace kinflow
