// A dependence of its own for each column of the latents: any structure, once for each
// column, and blocks whose correlations have an effect of the block and one of the
// column.
#pragma once

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
  virtual at::Tensor inner_parameters(const at::Tensor& parameters) const = 0;

  std::int64_t rows() const override { return inner_->rows(); }
  std::int64_t distinct_latents() const override { return latents_; }
  std::string kind() const override { return inner_->kind(); }
  std::string description() const override { return inner_->description(); }
  bool has_costly_parameters() const override {
    return inner_->has_costly_parameters();
  }

  at::Tensor log_det(const at::Tensor& parameters) const override;
  at::Tensor precision_times(const at::Tensor& parameters,
                             const at::Tensor& latents) const override;
  at::Tensor quadratic(const at::Tensor& parameters,
                       const at::Tensor& latents) const override;
  at::Tensor parameter_gradient(const at::Tensor& parameters,
                                const at::Tensor& latents) const override;
  at::Tensor pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                        const at::Tensor& latents) const override;
  at::Tensor pairs_parameter_gradient(const at::Tensor& parameters,
                                      const at::Tensor& rows,
                                      const at::Tensor& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;
  std::unique_ptr<BatchEstimator> make_estimator(
      const std::vector<EstimatorChoice>& choices, at::ScalarType type) const override;

  at::Tensor sample(const at::Tensor& parameters, std::int64_t columns,
                    Random& random) const override;
  at::Tensor covariance(const at::Tensor& parameters) const override;
  ConditionalLaw condition(const at::Tensor& parameters, const at::Tensor& observed,
                           const at::Tensor& latents) const override;
  ConditionalRows condition_rows(const at::Tensor& parameters,
                                 const at::Tensor& observed,
                                 const at::Tensor& latents) const override;
  at::Tensor sample_given(const at::Tensor& parameters, const at::Tensor& observed,
                          const at::Tensor& latents, Random& random) const override;

 protected:
  /// InputError for no columns, and for an inner structure that has columns of its own.
  FoldedLatents(std::shared_ptr<const Dependence> inner, std::int64_t latents);

  /// The gradient in the own parameters [R, K] from that in the inner ones [R * p, k].
  virtual at::Tensor own_gradient(const at::Tensor& parameters,
                                  const at::Tensor& inner_gradient) const = 0;

  /// [R, n, p] to [R * p, n, 1] and back. InputError for another p.
  at::Tensor fold(const at::Tensor& latents) const;
  at::Tensor unfold(const at::Tensor& folded) const;

 private:
  class Memory;
  class Estimator;

  /// Parameters [k] of each column of one replica: [p, k].
  at::Tensor parameters_by_latent(const at::Tensor& parameters) const;
  /// A column of latents [q, p], as [q, 1].
  at::Tensor column(const at::Tensor& latents, std::int64_t latent) const;

  std::shared_ptr<const Dependence> inner_;
  std::int64_t latents_;
};

/// Every column has all of the inner structure's parameters for itself: [R, p * k], the
/// k of a column follow each other.
class PerLatent final : public FoldedLatents {
 public:
  PerLatent(std::shared_ptr<const Dependence> inner, std::int64_t latents);

  std::int64_t parameter_count() const override;
  at::Tensor inner_parameters(const at::Tensor& parameters) const override;
  at::Tensor to_unconstrained(const at::Tensor& parameters) const override;
  at::Tensor from_unconstrained(const at::Tensor& unconstrained) const override;
  at::Tensor unconstrained_gradient(const at::Tensor& parameters,
                                    const at::Tensor& gradient) const override;
  at::Tensor unconstrained_prior_gradient(const at::Tensor& parameters) const override;
  at::Tensor prior_objective(const at::Tensor& parameters) const override;
  at::Tensor default_parameters() const override;
  at::Tensor most_likely(const at::Tensor& latents, const at::Tensor& start,
                         double prior) const override;
  bool has_separate_parameters() const override {
    return inner().has_separate_parameters();
  }
  std::optional<std::int64_t> edges_of_independence() const override;

 protected:
  at::Tensor own_gradient(const at::Tensor& parameters,
                          const at::Tensor& inner_gradient) const override;
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
  BlockAndLatentEffects(const at::Tensor& block_of_row, std::int64_t latents);

  const Blocks& blocks() const { return *blocks_; }
  /// m, the number of block effects.
  std::int64_t block_effects() const { return blocks_->parameter_count(); }

  std::int64_t parameter_count() const override;
  at::Tensor inner_parameters(const at::Tensor& parameters) const override;
  /// The correlations, [R, p * m]; those of a column follow each other.
  at::Tensor interpreted(const at::Tensor& parameters) const override;
  at::Tensor to_unconstrained(const at::Tensor& parameters) const override;
  at::Tensor from_unconstrained(const at::Tensor& unconstrained) const override;
  at::Tensor unconstrained_gradient(const at::Tensor& parameters,
                                    const at::Tensor& gradient) const override;
  at::Tensor unconstrained_prior_gradient(const at::Tensor& parameters) const override;
  at::Tensor prior_objective(const at::Tensor& parameters) const override;
  at::Tensor default_parameters() const override;
  bool has_separate_parameters() const override { return parameter_count() == 0; }

 protected:
  at::Tensor own_gradient(const at::Tensor& parameters,
                          const at::Tensor& inner_gradient) const override;

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
at::Tensor log_density_by_block(const Dependence& law, const at::Tensor& parameters,
                                const at::Tensor& rows, const at::Tensor& latents);

/// Blocks with any kind of correlations: a Blocks, or one of the two above.
std::unique_ptr<Dependence> make_blocks(const at::Tensor& block_of_row,
                                        const BlocksOptions& options);

}  // namespace kinflow
