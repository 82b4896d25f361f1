// Spectral decompositions of relationship matrices, complete or of low rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace kinflow {

/// G = Q diag(eigenvalues) Q'. With k < n columns the other n - k eigenvalues of G are
/// 0, and their eigenvectors are not kept.
struct SpectralDecomposition {
  at::Tensor eigenvectors;  ///< Q [n, k] float64, column j belongs to eigenvalue j
  at::Tensor eigenvalues;   ///< [k] float64, increasing, none negative
};

/// InputError where a matrix is not square, finite and symmetric, or has more rows than
/// LAPACK's 32-bit sizes allow (32,766).
/// @param relationship [n, n], floating
void check_relationship(const at::Tensor& relationship);

/// Decomposes a symmetric positive semidefinite matrix in float64 with LAPACK's
/// divide and conquer (dsyevd): O(n^3) time; at the peak four n x n matrices beside G.
/// Eigenvalues that rounding made negative, down to -1e-8 n times the largest, become
/// 0. InputError where G is not square, finite, symmetric or positive semidefinite, and
/// above 32,766 rows, where LAPACK's 32-bit sizes end.
/// @param relationship [n, n]
SpectralDecomposition decompose_relationship(const at::Tensor& relationship);

/// Decomposes G = Z Z' from its factor, by a QR decomposition of Z and a singular value
/// decomposition of the k x k triangle: O(n k^2) time, about three matrices of the size
/// of Z; G is not formed. Keeps the columns whose singular value is more than rounding,
/// at least one. InputError where the factor is empty or not finite.
/// @param factor Z [n, k]
SpectralDecomposition decompose_factor(const at::Tensor& factor);

/// A matrix that decompose_relationship() would refuse for a negative eigenvalue.
struct Indefinite {
  std::int64_t place;  ///< among the matrices
  double eigenvalue;   ///< its smallest
};
/// The first of some symmetric matrices that is not positive semidefinite. Mostly
/// Cholesky factors decide, which is far cheaper than eigenvalues.
/// @param matrices [count, m, m] float64
std::optional<Indefinite> find_indefinite(const at::Tensor& matrices);
/// InputError where a symmetric matrix [n, n] float64 is not positive semidefinite.
void check_positive_semidefinite(const at::Tensor& relationship);

}  // namespace kinflow
