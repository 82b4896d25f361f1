// Rows related in several ways: C = w_0 I + w_1 G_1 + ... + w_r G_r.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kinflow/dependence/dependence.h"

namespace kinflow {

struct RelationshipSumOptions {
  /// More rows are refused: every new value of the weights costs a Cholesky factor.
  std::int64_t largest_rows = 8000;
};

/// C = w_0 I + sum_r w_r G_r with dense G_r given and the weights w the r + 1
/// parameters. The algebra holds for all weights that make C positive definite;
/// without bounds they are a softmax, so that an optimiser keeps them positive with the
/// sum 1.
///
/// The matrices share no eigenvectors, so each new value of the weights costs O(n^3)
/// for a Cholesky factor and the inverse, kept until the weights change: R + r + 1
/// matrices n x n for R replicas. With the weights unchanged all rows cost O(n^2 p), a
/// batch O(b n p), the gradient in the weights O(r n^2 p).
class RelationshipSum final : public Dependence {
 public:
  /// InputError where there is no matrix, one is not square, finite, symmetric and
  /// positive semidefinite, sizes differ, or there are too many rows.
  /// @param relationships G_1, ..., G_r, each [n, n]
  explicit RelationshipSum(const std::vector<at::Tensor>& relationships,
                           RelationshipSumOptions options = {});

  std::int64_t rows() const override { return relationships_.size(1); }
  std::int64_t parameter_count() const override { return relationships_.size(0) + 1; }
  std::string kind() const override { return "sum"; }

  /// G_1, ..., G_r: [r, n, n] float64.
  const at::Tensor& relationships() const { return relationships_; }

  at::Tensor log_det(const at::Tensor& parameters) const override;
  at::Tensor precision_times(const at::Tensor& parameters,
                             const at::Tensor& latents) const override;
  at::Tensor parameter_gradient(const at::Tensor& parameters,
                                const at::Tensor& latents) const override;
  at::Tensor pairs_rows(const at::Tensor& parameters, const at::Tensor& rows,
                        const at::Tensor& latents) const override;
  at::Tensor pairs_parameter_gradient(const at::Tensor& parameters,
                                      const at::Tensor& rows,
                                      const at::Tensor& latents) const override;
  std::unique_ptr<LatentMemory> make_memory() const override;

  /// The logarithms of the weights; back by a softmax, each weight at least 1e-9.
  at::Tensor to_unconstrained(const at::Tensor& parameters) const override;
  at::Tensor from_unconstrained(const at::Tensor& unconstrained) const override;
  at::Tensor unconstrained_gradient(const at::Tensor& parameters,
                                    const at::Tensor& gradient) const override;
  /// A Dirichlet(2, ..., 2) density of the weights.
  at::Tensor unconstrained_prior_gradient(const at::Tensor& parameters) const override;
  at::Tensor prior_objective(const at::Tensor& parameters) const override;
  /// All weights but the first are 0.
  std::optional<std::int64_t> edges_of_independence() const override {
    return parameter_count() - 1;
  }
  /// Equal weights.
  at::Tensor default_parameters() const override;

  at::Tensor sample(const at::Tensor& parameters, std::int64_t columns,
                    Random& random) const override;
  at::Tensor covariance(const at::Tensor& parameters) const override;

 private:
  class Memory;

  /// What the weights of all replicas determine.
  struct Inverse {
    at::Tensor weights;    ///< [R, r + 1]
    at::Tensor precision;  ///< C^-1, [R, n, n]
    at::Tensor log_det;    ///< [R]
    at::Tensor traces;     ///< tr(C^-1 G_r) with G_0 = I: [R, r + 1]
  };

  /// C of every replica: [R, n, n].
  at::Tensor covariances(const at::Tensor& weights) const;
  /// A Cholesky factor of every C; NumericalError where there is none.
  at::Tensor cholesky(const at::Tensor& weights) const;
  std::shared_ptr<const Inverse> inverse(const at::Tensor& parameters) const;
  /// For every r and replica the trace of left' G_r right, [R, n, c] each: [R, r + 1].
  at::Tensor forms(const at::Tensor& left, const at::Tensor& right) const;

  at::Tensor relationships_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Inverse> last_;
};

}  // namespace kinflow
