// Rows related by a known matrix: C = lambda I + (1 - lambda) G.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {

/// C = lambda I + (1 - lambda) G with G given and lambda in (0, 1) the one parameter,
/// the share of variance that rows do not have in common with others. G is taken as it
/// is: no rescaling, whatever its diagonal.
///
/// In the eigenvectors' coordinates C is diagonal, v_j = lambda + (1 - lambda) d_j, so
/// after one decomposition with k columns all costs are those of products with Q or
/// with a batch's rows of Q: O(n k p) for all rows, O(b k p) for a batch. For a dense G
/// k = n. With k < n (low rank) C has the eigenvalue lambda in the directions
/// orthogonal to Q, and nothing of size n x n is formed. All replicas share Q.
class Relationship final : public Dependence {
 public:
  /// @param relationship G [n, n]; see decompose_relationship() for what is refused
  explicit Relationship(const Array& relationship);
  /// From a decomposition made before, complete or of low rank; InputError on wrong
  /// shapes or eigenvalues < 0.
  explicit Relationship(SpectralDecomposition decomposition);

  std::int64_t rows() const override { return decomposition_.eigenvectors.size(0); }
  std::int64_t parameter_count() const override { return 1; }
  std::string kind() const override { return "relationship"; }

  /// k, the number of eigenvectors: n, or less where G is of low rank.
  std::int64_t rank() const { return decomposition_.eigenvalues.size(0); }
  /// Q [n, k], column j belongs to eigenvalue j.
  const Array& eigenvectors() const { return decomposition_.eigenvectors; }
  /// [k], increasing.
  const Array& eigenvalues() const { return decomposition_.eigenvalues; }

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
  /// Products with Q in the type of the latents. On the CPU by kernels, elsewhere by
  /// make_array_estimator(), which works on any device.
  std::unique_ptr<BatchEstimator> make_estimator(
      const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const override;
  std::unique_ptr<BatchEstimator> make_array_estimator(
      const std::vector<EstimatorChoice>& choices, nd::ScalarType type) const;
  /// The global optimum of the likelihood curve, in [1e-9, 1 - 1e-9].
  Array most_likely(const Array& latents, const Array& start,
                    double prior) const override;
  Array sample(const Array& parameters, std::int64_t columns,
               Random& random) const override;
  Array covariance(const Array& parameters) const override;
  /// O(q k^2 + m^2 k) for q observed and m unknown rows where G is of low rank.
  ConditionalLaw condition(const Array& parameters, const Array& observed,
                           const Array& latents) const override;
  /// O(n k (k + p)) where G is of low rank. Otherwise the smaller of the observed rows'
  /// part of C and the unknown rows' part of C^-1 is factorised.
  ConditionalRows condition_rows(const Array& parameters, const Array& observed,
                                 const Array& latents) const override;
  /// O(n k (k + p)) where G is of low rank.
  Array sample_given(const Array& parameters, const Array& observed,
                     const Array& latents, Random& random) const override;

 private:
  class Memory;
  class ArrayEstimator;

  /// A function of C, as f(C) = outside I + Q diag(inside) Q'. Where Q is complete,
  /// outside is 0.
  struct SpectralFunction {
    Array inside;   ///< [k, R]
    Array outside;  ///< [R]
  };
  /// Sums of squares of latents along each eigenvector and orthogonal to all of them.
  struct Squares {
    Array along;  ///< [k, R]
    Array rest;   ///< [R]; 0 where Q is complete
  };
  /// What is known of the k common factors z of low rank, u = Q diag(scale) z + noise.
  struct FactorLaw {
    Array unknown;  ///< [m] int64, the rows that are not observed
    Array loading;  ///< Q diag(scale), [n, k]
    Array root;     ///< [k, k] lower, root root' is the precision of z
    Array mean;     ///< [k, p]
  };

  bool is_complete() const { return rank() == rows(); }
  /// v_j = lambda + (1 - lambda) d_j, eigenvalues of C: [k, R].
  Array variances(const Array& parameters) const;
  /// C^-1 and its derivative in lambda.
  SpectralFunction precision(const Array& parameters) const;
  SpectralFunction precision_slope(const Array& parameters) const;
  /// Derivative of log det C in lambda: [R].
  Array log_det_slope(const Array& parameters) const;
  /// Q'U as [k, R, p]: replicas stand side by side, so that one product serves all.
  Array rotate(const Array& latents) const;
  /// @param rotated [k, R, p]  @param total sum of squares of all latents, [R]
  Squares squares(const Array& rotated, const Array& total) const;
  /// Some rows of f(C) U: [R, b, p].
  /// @param vectors [b, k], these rows of Q  @param latents [R, b, p], these rows of U
  /// @param rotated Q'U [k, R, p]
  static Array rows_of_product(const SpectralFunction& function, const Array& vectors,
                               const Array& latents, const Array& rotated);
  Array gradient_from_squares(const Array& parameters, const Squares& squares,
                              std::int64_t columns) const;
  FactorLaw factors_given(const Array& parameters, const Array& observed,
                          const Array& latents) const;

  SpectralDecomposition decomposition_;
};

}  // namespace kinflow
