// Genotypes in the coordinates of the eigenvectors of a relationship.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kinflow/core/aligned_vector.h"
#include "kinflow/core/instruction_set.h"
#include "kinflow/genetics/genotype_counts.h"
#include "kinflow/genetics/kernels/genotype_sums.h"

namespace kinflow {

/// Variants of the same people.
struct GenotypeBlock {
  std::vector<std::int8_t> genotypes;  ///< [people x variants] as Genotypes::read()
  std::vector<GenotypeCounts> counts;  ///< [variants] of these people

  std::int64_t variants() const { return static_cast<std::int64_t>(counts.size()); }
};

/// U'X in float for an orthogonal U and genotypes, by tables of sums
/// (kernels/genotype_sums.h). Threads may rotate at the same time.
class GenotypeRotation {
 public:
  /// @param vectors  U [people x people], column-major
  GenotypeRotation(const std::vector<double>& vectors, std::int64_t people,
                   InstructionSet set = InstructionSet::best);

  /// Memory of a thread.
  struct Scratch {
    std::vector<std::uint16_t> offsets;
    AlignedVector<float> sums;
    struct Missing {
      std::int64_t variant, person;
      float mean;
    };
    std::vector<Missing> missing;
    std::vector<double> means, signs;
  };
  /// U'(x - mean of x), with missing genotypes as the mean; exactly 0 for variants that
  /// do not vary. The result of a variant does not depend on the others.
  /// @param rotated  [people x variants]
  void rotate(const GenotypeBlock& block, Scratch& scratch, double* rotated) const;

 private:
  void encode(const GenotypeBlock& block, Scratch& scratch) const;
  void encode_variant(std::span<const std::int8_t> genotypes, bool is_flipped,
                      std::int64_t variant, std::int64_t variants,
                      Scratch& scratch) const;
  const float* panel(std::int64_t number) const {
    return &panels_[static_cast<std::size_t>(number * passes_ * kPeopleOfPass *
                                             kPanel)];
  }

  std::int64_t people_, passes_;
  AlignedVector<float> panels_;  // [panels][passes_ * kPeopleOfPass][kPanel]
  std::vector<double> totals_;   // the sums of the columns of U
  const GenotypeSums* kernels_;
};

}  // namespace kinflow
