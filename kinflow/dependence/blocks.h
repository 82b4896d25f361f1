// Repeat measurements: the rows of one block share a correlation.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// The last two are laws of their own, see make_blocks() in per_latent.h; Blocks
/// refuses them.
enum class BlockCorrelation {
  shared,      ///< one correlation for all blocks
  per_block,   ///< one correlation for each block of at least two rows
  per_size,    ///< one correlation for all blocks of the same number of rows
  pooled,      ///< as per_block, with a normal law of their logits learned
  per_latent,  ///< one correlation of all blocks for each column of the latents
  per_block_and_latent  ///< an effect of each block and one of each column
};

struct BlocksOptions {
  BlockCorrelation correlation = BlockCorrelation::per_block;
  /// p, the columns of the latents. Needed where they have correlations of their own,
  /// and with BlockCorrelation::pooled, where how much they say about a correlation
  /// decides how strongly it is pooled.
  std::int64_t columns = 0;
};

/// The law logit rho ~ Normal(mu, tau^2) of pooled correlations, [R] each.
struct PoolingLaw {
  Array mu;
  Array tau;
};

/// Block-diagonal correlation: rows i, j of block b have correlation rho_b in (0, 1),
/// rows of different blocks none. Everything costs O(n p); no n x n matrix is formed.
///
/// Blocks are numbered 0 .. B - 1 in increasing order of their labels. A block of one
/// row has no parameter; the others' follow each other in the order of the blocks, or,
/// with one for each size, in increasing order of the sizes.
class Blocks final : public Dependence {
 public:
  /// @param block_of_row [n] int64, any labels, rows in any order
  explicit Blocks(const Array& block_of_row, BlocksOptions options = {});

  std::int64_t rows() const override { return block_of_row_.size(0); }
  std::int64_t parameter_count() const override { return parameter_count_; }
  std::string kind() const override { return "blocks"; }

  const BlocksOptions& options() const { return options_; }
  std::int64_t block_count() const { return labels_.size(0); }
  /// [B] int64, increasing: the label that block b had in the constructor.
  const Array& labels() const { return labels_; }
  /// [B] int64, rows in each block.
  const Array& sizes() const { return sizes_; }
  /// [n] int64, the block number of each row.
  const Array& block_of_row() const { return block_of_row_; }
  /// [B] int64, the index of the block's parameter; -1 for a block of one row.
  const Array& parameter_of_block() const { return parameter_of_block_; }

  /// For each row of a batch the place in the batch of one of the rows of its block,
  /// the same for all of them: [b] int64. @param blocks [b] int64, those of the rows
  Array place_within_batch(const Array& blocks) const;
  /// Latents of a batch summed over its rows of the same block, one sum for each row of
  /// the batch: [R, b, p].
  Array sums_within_batch(const Array& blocks, const Array& latents) const;

  Array log_det(const Array& parameters) const override;
  Array precision_times(const Array& parameters, const Array& latents) const override;
  Array quadratic(const Array& parameters, const Array& latents) const override;
  Array parameter_gradient(const Array& parameters,
                           const Array& latents) const override;
  Array pairs_rows(const Array& parameters, const Array& rows,
                   const Array& latents) const override;
  Array pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                 const Array& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  /// Each correlation is the global optimum of its own likelihood curve, in [1e-9, 1 -
  /// 1e-9].
  Array most_likely(const Array& latents, const Array& start,
                    double prior) const override;
  bool has_separate_parameters() const override { return true; }
  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

  /// As in the base class; with pooled correlations that of their PoolingLaw, which is
  /// held while they move.
  Array unconstrained_prior_gradient(const Array& parameters) const override;
  Array prior_objective(const Array& parameters) const override;
  /// The law that fits pooled correlations, by one step of EM with Laplace's
  /// approximation solved to its end: with x = logit rho and h the expected information
  /// in x, mu is the mean of x, and tau^2 the fixed point of
  ///     t = mean of (x - mu)^2 + 1 / (h + 1 / t),
  /// at least 0.1^2. InputError where correlations are not pooled.
  /// @param parameters [R, k]
  PoolingLaw pooling_law(const Array& parameters) const;

 private:
  class Memory;

  /// What the algebra of a block needs. C_b has the eigenvalue `along` in the direction
  /// of the constant vector and `across` in all directions orthogonal to it. Each is
  /// [R, count].
  struct Terms {
    Array correlation;  ///< rho, 0 in a block of one row
    Array along;        ///< 1 + (m - 1) rho in a block of m rows
    Array across;       ///< 1 - rho
  };
  /// Per-block sums over the rows of a set of latents.
  struct Sums {
    Array latents;  ///< sum of u, [R, B, p]
    Array squares;  ///< sum of |u|^2, [R, B]
  };
  /// The sum of |u|^2 split into its parts in the two eigenspaces, each [R, B].
  struct Squares {
    Array along;
    Array across;
  };

  /// Of all blocks, or of those named (with repetitions).
  Terms terms(const Array& parameters) const;
  Terms terms(const Array& parameters, const Array& blocks) const;
  Sums sums(const Array& latents) const;
  /// The same in one pass over the rows, without temporaries of their size.
  /// @param latents [R, n, p] float64 on the CPU, contiguous
  Sums sums_on_cpu(const Array& latents) const;
  Array precision_times_on_cpu(const Array& parameters, const Array& latents) const;
  Squares squares(const Sums& sums) const;
  /// Rows of C^-1 U from the rows' own latents and their blocks' sums of latents, both
  /// [R, count, p].
  static Array precision_rows(const Terms& terms, const Array& latents,
                              const Array& sums);
  Array parameter_gradient(const Array& parameters, const Sums& sums) const;
  /// Gradients per block [R, B] added up to gradients in the parameters [R, k].
  Array add_to_parameters(const Array& block_gradient) const;
  /// What the observed rows of every block say about its other rows.
  struct Regression {
    Array mean;      ///< [n, p]
    Array variance;  ///< [n], of a row that is not observed
  };
  /// @param values [q, p], of the observed rows
  Regression regress(const Array& parameters, const Array& observed,
                     const Array& values) const;
  /// Expected information about the logits of the correlations of all blocks of at
  /// least two rows: [R, correlated].
  Array expected_information(const Array& parameters) const;
  Array most_likely_pooled(const Array& latents) const;
  BlocksOptions options_;
  std::int64_t parameter_count_;
  Array labels_;
  Array sizes_;
  Array block_of_row_;
  Array parameter_of_block_;
  Array slot_of_block_;      // as parameter_of_block_, with k in place of -1
  Array other_rows_;         // [B] float64, sizes - 1
  Array correlated_blocks_;  // [.] int64, the blocks of at least two rows
};

}  // namespace kinflow
