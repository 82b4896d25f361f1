// Blocks for one replica on plain arrays: what a training step needs of them, without
// any allocation. Blocks (blocks.h) has the same algebra for tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/dependence/blocks.h"

namespace kinflow {

/// The structure of a Blocks as plain arrays.
struct BlockArrays {
  explicit BlockArrays(const Blocks& blocks);

  std::vector<std::int64_t> block_of_row;        ///< [n]
  std::vector<double> other_rows;                ///< [B], rows of the block less 1
  std::vector<std::int64_t> parameter_of_block;  ///< [B], -1: none
  std::int64_t parameters = 0;                   ///< k

  std::int64_t rows() const { return static_cast<std::int64_t>(block_of_row.size()); }
  std::int64_t blocks() const { return static_cast<std::int64_t>(other_rows.size()); }
};

/// Rows of a batch, distinct, and their latents.
template <typename Real>
struct BatchRows {
  const std::int64_t* rows;  ///< [count]
  std::int64_t count;
  const Real* latents;  ///< [count][p]
};

/// Sums of one replica's remembered latents, and rows of C^-1 U and gradients in the
/// correlations from them and from the pairs inside a batch.
class BlockReplica {
 public:
  /// `arrays` must outlive this object.
  BlockReplica(const BlockArrays& arrays, std::int64_t columns);

  /// Correlations [k] for all that follows.
  void set_parameters(const double* parameters);
  double log_det() const;

  /// Sums of all latents [n][p] anew.
  template <typename Real>
  void reset(const Real* latents);
  /// Overwrites the batch's rows of the remembered latents [n][p].
  template <typename Real>
  void update(const BatchRows<Real>& batch, Real* latents);

  /// Estimated rows of C^-1 U, [count][p]: `memory_share` times those of the remembered
  /// latents, after update(), the rest from pairs inside the batch (Dependence::
  /// pairs_rows). A share of 0 needs no reset() and update(), one of 1 no pairs.
  template <typename Real>
  void precision_rows(const BatchRows<Real>& batch, double memory_share, Real* result);

  /// Exact gradient [k] of the objective of the remembered latents.
  void gradient(double* result) const;
  /// Its estimate from the pairs inside a batch (Dependence::pairs_parameter_gradient).
  template <typename Real>
  void pairs_gradient(const BatchRows<Real>& batch, double* result);

 private:
  template <typename Real>
  void sum_batch(const BatchRows<Real>& batch);
  double pair_weight(std::int64_t count) const;

  const BlockArrays& arrays_;
  std::int64_t columns_;
  // Of each block: correlation and the two eigenvalues of its correlation matrix.
  std::vector<double> correlation_, along_, across_;
  std::vector<double> sums_, squares_;  // [B][p] of latents, [B] of |latents|^2
  std::vector<double> batch_sums_;      // [B][p]; of the batch's blocks only
};

}  // namespace kinflow
