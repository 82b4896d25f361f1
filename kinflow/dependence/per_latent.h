// A dependence of its own for each column of the latents: any structure, once for each
// column, and blocks whose correlations have an effect of the block and one of the
// column.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// A structure whose columns are p independent replicas of one column of another
/// structure, the inner one. Latents [R, n, p] are folded to [R * p, n, 1], so that
/// the inner structure's algebra, memory and estimators serve as they are, with one
/// product for all columns where they have one for all replicas.
///
/// It knows p: latents with another number of columns are refused.
class FoldedLatents : public Dependence {
 public:
  const Dependence& inner() const { return *inner_; }
  /// The inner structure's parameters of every column, [R * p, k]: those of a
  /// replica's columns follow each other.
  virtual Array inner_parameters(const Array& parameters) const = 0;

  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t distinct_latents() const override { return latents_; }
  std::string kind() const override { return inner_->kind(); }
  std::string description() const override { return inner_->description(); }
  bool has_costly_parameters() const override {
    return inner_->has_costly_parameters();
  }

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
  std::unique_ptr<BatchEstimator> make_estimator(
      const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const override;

  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  ConditionalLaw condition(const Array& parameters, const Array& observed,
                           const Array& latents) const override;
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

 protected:
  /// InputError for no columns, and for an inner structure that has columns of its own.
  FoldedLatents(std::shared_ptr<const Dependence> inner, std::int64_t latents);

  /// The gradient in the own parameters [R, K] from that in the inner ones [R * p, k].
  virtual Array own_gradient(const Array& parameters,
                             const Array& inner_gradient) const = 0;

  /// [R, n, p] to [R * p, n, 1] and back. InputError for another p.
  Array fold(const Array& latents) const;
  Array unfold(const Array& folded) const;

 private:
  class Memory;
  class Estimator;

  /// Parameters [k] of each column of one replica: [p, k].
  Array parameters_by_latent(const Array& parameters) const;
  /// A column of latents [q, p], as [q, 1].
  Array column(const Array& latents, std::int64_t latent) const;

  std::shared_ptr<const Dependence> inner_;
  std::int64_t latents_;
};

/// Every column has all of the inner structure's parameters for itself: [R, p * k], the
/// k of a column follow each other.
class PerLatent final : public FoldedLatents {
 public:
  PerLatent(std::shared_ptr<const Dependence> inner, std::int64_t latents);

  std::int64_t parameter_count() const override;
  Array inner_parameters(const Array& parameters) const override;
  Array to_unconstrained(const Array& parameters) const override;
  Array from_unconstrained(const Array& unconstrained) const override;
  Array unconstrained_gradient(const Array& parameters,
                               const Array& gradient) const override;
  Array unconstrained_prior_gradient(const Array& parameters) const override;
  Array prior_objective(const Array& parameters) const override;
  Array default_parameters() const override;
  Array most_likely(const Array& latents, const Array& start,
                    double prior) const override;
  bool has_separate_parameters() const override {
    return inner().has_separate_parameters();
  }
  std::optional<std::int64_t> edges_of_independence() const override;

 protected:
  Array own_gradient(const Array& parameters,
                     const Array& inner_gradient) const override;
};

/// Blocks whose correlation in block b and column j is sigmoid(a_b + c_j). The
/// parameters are these effects, [R, m + p]: a of the m blocks of at least two rows, in
/// the order of the blocks, then c of the columns. They have no bounds, so that the
/// unbounded scale is their own. The prior, which pools the blocks, is normal with mean
/// 0 and deviation kBlockEffectDeviation for a, and for c what a Beta(2, 2) density of
/// sigmoid(c) gives. Without it the effects are determined up to a number that is added
/// to all a and taken from all c.
class BlockAndLatentEffects final : public FoldedLatents {
 public:
  static constexpr double kBlockEffectDeviation = 0.5;
  static constexpr double kBlockEffectPrecision =
      1 / (kBlockEffectDeviation * kBlockEffectDeviation);

  /// @param block_of_row  as in Blocks
  BlockAndLatentEffects(const Array& block_of_row, std::int64_t latents);

  const Blocks& blocks() const { return *blocks_; }
  /// m, the number of block effects.
  std::int64_t block_effects() const { return blocks_->parameter_count(); }

  std::int64_t parameter_count() const override;
  Array inner_parameters(const Array& parameters) const override;
  /// The correlations, [R, p * m]; those of a column follow each other.
  Array interpreted(const Array& parameters) const override;
  Array to_unconstrained(const Array& parameters) const override;
  Array from_unconstrained(const Array& unconstrained) const override;
  Array unconstrained_gradient(const Array& parameters,
                               const Array& gradient) const override;
  Array unconstrained_prior_gradient(const Array& parameters) const override;
  Array prior_objective(const Array& parameters) const override;
  Array default_parameters() const override;
  bool has_separate_parameters() const override { return parameter_count() == 0; }

 protected:
  Array own_gradient(const Array& parameters,
                     const Array& inner_gradient) const override;

 private:
  BlockAndLatentEffects(std::shared_ptr<const Blocks> blocks, std::int64_t latents);

  std::shared_ptr<const Blocks> blocks_;
};

/// The blocks of a law of blocks, whatever their correlations; null for others.
const Blocks* blocks_of(const Dependence& law);

/// log p of the given rows of every block by themselves, as if a law of blocks had no
/// others: [B] float64; 0 for a block that has none of them. NumericalError does not
/// come: correlations lie in [0, 1).
/// @param law  whose blocks_of() is not null  @param parameters  [k], one replica
/// @param rows  [q] int64, distinct  @param latents  [q, p]
Array log_density_by_block(const Dependence& law, const Array& parameters,
                           const Array& rows, const Array& latents);

/// Blocks with any kind of correlations: a Blocks, or one of the two above.
std::unique_ptr<Dependence> make_blocks(const Array& block_of_row,
                                        const BlocksOptions& options);

}  // namespace kinflow
