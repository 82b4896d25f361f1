// Relationship matrices (GRM) from genotypes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"
#include "kinflow/genetics/genotype_counts.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// How the counts x of a variant enter a matrix.
enum class SnpRelationshipKind {
  /// (x - mean) (x - mean)' / m over m variants, a missing x as the mean (GEMMA -gk 1)
  centered,
  /// (x - 2 p)(x - 2 p)' / (2 p (1 - p)) with the founders' frequency p; every entry is
  /// the mean over the variants that both people have (GCTA, plink --make-grm-bin)
  standardized,
  /// like `centered`, with x divided by its deviation (GEMMA -gk 2)
  unit_variance
};

struct SnpRelationshipOptions {
  SnpRelationshipKind kind = SnpRelationshipKind::standardized;
  int autosomes = kHumanAutosomes;
  bool with_nonfounders = false;  ///< frequencies of everyone in place of founders
};

/// The sums behind a relationship matrix, to which variants can be added and from which
/// they can be taken away. Holds one n x n matrix of float64; adding takes some tens of
/// megabytes more. Variants that do not vary (standardized: among founders) have no
/// part in the matrix and are not counted. Products are float32 within a block of
/// variants, which makes errors of about 1e-6 of the diagonal. Computes with
/// shared_workers(); results do not depend on the number of threads.
class RelationshipSums {
 public:
  /// Empty sums. `genotypes` must outlive them.
  /// @param people  rows of the .fam, each at most once; the rows of the matrix
  /// InputError where the matrix does not fit into memory, and where a standardized one
  /// is asked for without founders.
  RelationshipSums(const Genotypes& genotypes, std::vector<std::int64_t> people,
                   const SnpRelationshipOptions& options);

  void add(std::span<const std::int64_t> variants) { add_signed(variants, 1); }
  /// Takes variants away that have been added.
  void subtract(std::span<const std::int64_t> variants) { add_signed(variants, -1); }

  /// Variants in the sums, those that do not vary not counted.
  std::int64_t variants() const { return variants_; }

  /// The matrix, for which the sums are given up. `variants` and, where genotypes are
  /// missing and the kind is standardized, `pair_variants` are set. InputError where
  /// there is no variant, or two people have none in common.
  RelationshipFile finish() &&;

 private:
  struct Block;

  void add_signed(std::span<const std::int64_t> variants, int sign);
  void fill(Block& block, std::span<const std::int64_t> variants) const;
  void fill_row(Block& block, std::size_t row, std::int64_t variant) const;
  void add_tile(const Block& block, std::size_t first_row, std::size_t first_column,
                int sign);
  void count_missing_pairs(const Block& block, std::size_t first_row,
                           std::size_t first_column, int sign);
  double pairs_missing(std::size_t row, std::size_t column) const;

  const Genotypes& genotypes_;
  std::vector<std::int64_t> people_;
  SnpRelationshipOptions options_;
  VariantCounter counter_;
  PeopleMask everyone_;
  std::int64_t variants_ = 0;
  // [n x n]: the lower triangle has the sums of products, the upper one without the
  // diagonal how many variants both people miss.
  std::vector<double> sums_;
  std::vector<std::int64_t> missing_;  // [n] variants that a person misses
};

/// The matrix of these people from these variants.
RelationshipFile snp_relationship(const Genotypes& genotypes,
                                  std::span<const std::int64_t> people,
                                  std::span<const std::int64_t> variants,
                                  const SnpRelationshipOptions& options);

/// The variants of one chromosome.
struct ChromosomeVariants {
  std::string name;  ///< as in the .bim, of its first variant
  std::vector<std::int64_t> variants;
};

/// Variants by chromosome, in the order of their first ones; 1 and chr1 are the same.
std::vector<ChromosomeVariants> by_chromosome(const Genotypes& genotypes,
                                              std::span<const std::int64_t> variants,
                                              int autosomes = kHumanAutosomes);

/// InputError where more chromosomes would be left out, one at a time, than a genome
/// has (95, as many as --chr-set can name): each takes a matrix.
/// @param name  of one of them
void check_left_out(const Genotypes& genotypes, std::size_t chromosomes,
                    const std::string& name);

/// Calls visit(chromosome, matrix) for every chromosome, with the matrix from the
/// variants of all others. Holds two matrices. InputError for variants of one
/// chromosome only, and as check_left_out().
void visit_leaving_chromosomes_out(
    const Genotypes& genotypes, std::span<const std::int64_t> people,
    std::span<const std::int64_t> variants, const SnpRelationshipOptions& options,
    const std::function<void(const ChromosomeVariants&, RelationshipFile)>& visit);

}  // namespace kinflow
