// Rows related by a known matrix: C = lambda I + (1 - lambda) G.
#pragma once

#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// G = Q diag(eigenvalues) Q'.
struct SpectralDecomposition {
  at::Tensor eigenvectors;  ///< Q [n, n] float64, column k belongs to eigenvalue k
  at::Tensor eigenvalues;   ///< [n] float64, increasing, none negative
};

/// Decomposes a symmetric positive semidefinite matrix in float64 with LAPACK's
/// divide and conquer (dsyevd): O(n^3) time; at the peak four n x n matrices beside G.
/// Eigenvalues that rounding made negative, down to -1e-8 n times the largest, become
/// 0. InputError where G is not square, finite, symmetric or positive semidefinite, and
/// above 32,766 rows, where LAPACK's 32-bit sizes end.
/// @param relationship [n, n]
SpectralDecomposition decompose_relationship(const at::Tensor& relationship);

/// InputError where decompose_relationship() would refuse a symmetric matrix for a
/// negative eigenvalue. Mostly a Cholesky factor decides, which is far cheaper.
/// @param relationship [n, n] float64, symmetric, with a positive diagonal
void check_positive_semidefinite(const at::Tensor& relationship);

/// C = lambda I + (1 - lambda) G with G given and lambda in (0, 1) the one parameter,
/// the share of variance that rows do not have in common with others. G is taken as it
/// is: no rescaling, whatever its diagonal.
///
/// In the eigenvectors' coordinates C is diagonal, v_k = lambda + (1 - lambda) d_k, so
/// after one decomposition all costs are those of products with Q or with a batch's
/// rows of Q: O(n^2 p) for all rows, O(b n p) for a batch. No n x n matrix other than Q
/// is formed, and all replicas share Q.
class Relationship final : public Dependence {
 public:
  /// @param relationship G [n, n]; see decompose_relationship() for what is refused
  explicit Relationship(const at::Tensor& relationship);
  /// From a decomposition made before; InputError on wrong shapes or eigenvalues < 0.
  explicit Relationship(SpectralDecomposition decomposition);

  std::int64_t rows() const override { return decomposition_.eigenvalues.size(0); }
  std::int64_t parameter_count() const override { return 1; }
  std::string kind() const override { return "relationship"; }

  /// Q [n, n], column k belongs to eigenvalue k.
  const at::Tensor& eigenvectors() const { return decomposition_.eigenvectors; }
  /// [n], increasing.
  const at::Tensor& eigenvalues() const { return decomposition_.eigenvalues; }

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
  at::Tensor sample(const at::Tensor& parameters, std::int64_t columns,
                    Random& random) const override;
  at::Tensor covariance(const at::Tensor& parameters) const override;

 private:
  class Memory;

  /// v_k = lambda + (1 - lambda) d_k, the eigenvalues of C: [n, R].
  at::Tensor variances(const at::Tensor& parameters) const;
  /// Q'U as [n, R, p]: replicas stand side by side, so that one product serves all.
  at::Tensor rotate(const at::Tensor& latents) const;
  /// Some rows of Q diag(1/v) times rotated latents [n, R, p]: [R, b, p].
  /// @param vectors [b, n], these rows of Q
  at::Tensor rows_of_precision_times(const at::Tensor& parameters,
                                     const at::Tensor& vectors,
                                     const at::Tensor& rotated) const;
  /// parameter_gradient() from rotated latents [n, R, p].
  at::Tensor gradient_from_rotated(const at::Tensor& parameters,
                                   const at::Tensor& rotated) const;

  SpectralDecomposition decomposition_;
};

}  // namespace kinflow
