// Blocks for one replica on plain arrays: what a training step needs of them, without
// any allocation. Blocks (blocks.h) has the same algebra for arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// A law of blocks as plain arrays. Blocks of the same size and with the same parameter
/// are of one class: what they have in common is computed once.
struct BlockArrays {
  /// @param law  one of make_blocks() (per_latent.h) whose correlations are not pooled
  explicit BlockArrays(const Dependence& law);

  std::vector<std::int64_t> block_of_row;        ///< [n]
  std::vector<double> other_rows;                ///< [B], rows of the block less 1
  std::vector<std::int64_t> parameter_of_block;  ///< [B], -1: none
  std::vector<std::int64_t> class_of_block;      ///< [B]
  std::vector<double> class_other_rows;          ///< [C], of its blocks
  std::vector<double> class_blocks;              ///< [C], how many they are
  std::vector<std::int64_t> parameter_of_class;  ///< [C], -1: none
  std::int64_t parameters = 0;                   ///< k, of all latents
  /// L: 1 where all columns of the latents have the same correlations, else their
  /// number.
  std::int64_t latents = 1;
  /// Parameters between those of one latent and the next.
  std::int64_t parameters_per_latent = 0;
  /// The correlation is that of an effect of the block and one of the latent, which
  /// stand after all those of blocks; see BlockAndLatentEffects.
  bool are_effects = false;

  std::int64_t rows() const { return static_cast<std::int64_t>(block_of_row.size()); }
  std::int64_t blocks() const { return static_cast<std::int64_t>(other_rows.size()); }
  std::int64_t classes() const {
    return static_cast<std::int64_t>(class_other_rows.size());
  }
  /// Where the effects of latents begin.
  std::int64_t latent_effects() const { return parameters - latents; }
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

  /// Parameters [k] on their natural scale for all that follows.
  void set_parameters(const double* parameters);
  /// The mean over the columns.
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

  // Adds a gradient in the logit or in the value of a class's correlation in a latent.
  void add_slope(std::int64_t of_class, std::int64_t latent, double slope,
                 double* result) const;

  const BlockArrays& arrays_;
  std::int64_t columns_;
  std::int64_t latent_step_;   // 0 where all columns share the numbers of a class
  double columns_per_latent_;  // p or 1
  // Of each class and latent: correlation, the two eigenvalues of its correlation
  // matrix, and what the rows of C^-1 U are made with.
  std::vector<double> correlation_, along_, across_;
  std::vector<double> share_, scale_;  // correlation / along, 1 / across
  std::vector<double> sums_;           // [B][p] of latents
  // [C][L], over the blocks of a class: of |latents|^2, and its part along constant
  // vectors.
  std::vector<double> squares_, along_squares_;
  std::vector<double> batch_sums_;  // [B][p]; of the batch's blocks only
};

}  // namespace kinflow
