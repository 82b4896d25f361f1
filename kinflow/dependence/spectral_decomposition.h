// Spectral decompositions of relationship matrices, complete or of low rank.
#pragma once

#include <cstdint>
#include <optional>

#include "kinflow/array/array.h"
#include "kinflow/core/memory.h"

namespace kinflow {

/// G = Q diag(eigenvalues) Q'. With k < n columns the other n - k eigenvalues of G are
/// 0, and their eigenvectors are not kept.
struct SpectralDecomposition {
  Array eigenvectors;  ///< Q [n, k] float64, column j belongs to eigenvalue j
  Array eigenvalues;   ///< [k] float64, increasing, none negative
};

/// Eigenvalues from minus this times n times the largest up to 0 are taken for 0.
inline constexpr double kEigenvalueRounding = 1e-8;
/// Differences between G_ij and G_ji up to this share of the largest element are
/// taken for rounding.
inline constexpr double kAsymmetry = 1e-8;

/// InputError where a matrix is not square, finite and symmetric, or has more rows than
/// LAPACK's 32-bit sizes allow (32,766).
/// @param relationship [n, n], floating
void check_relationship(const Array& relationship);

/// Bytes that decompose_relationship() takes beside G at its peak: three n x n
/// matrices, of which two are LAPACK's own.
double decomposition_bytes(std::int64_t rows);

/// Seconds that decompose_relationship() will take with the threads that are set and
/// the load that the machine has: the time of a small matrix of random numbers, made
/// and decomposed here (a tenth of a second), times the third power of the sizes.
/// Measured with one thread from 2,000 to 5,000 rows it was 1.0 to 1.3 times the truth.
/// More threads help small matrices less, and G of low rank is decomposed faster, so
/// that it is too high there.
double expected_decomposition_seconds(std::int64_t rows);

/// InputError, with what would need less, where a matrix of so many rows cannot be
/// decomposed: above 32,766 rows and where the memory that is left does not suffice.
void require_decomposable(std::int64_t rows, const MemorySources& sources = {});

/// Decomposes a symmetric positive semidefinite matrix in float64, on the CPU with
/// LAPACK's divide and conquer (dsyevd): O(n^3) time, decomposition_bytes() of memory.
/// A matrix on a GPU is decomposed there by its own solver.
/// Eigenvalues that rounding made negative (kEigenvalueRounding) become 0. InputError
/// where G is not square, finite, symmetric or positive semidefinite, and as in
/// require_decomposable(). Of elements that differ by rounding, those on and above the
/// diagonal count.
/// @param relationship [n, n]
SpectralDecomposition decompose_relationship(const Array& relationship);

/// Decomposes G = Z Z' from its factor, by a QR decomposition of Z and a singular value
/// decomposition of the k x k triangle: O(n k^2) time, about three matrices of the size
/// of Z; G is not formed. Keeps the columns whose singular value is more than rounding,
/// at least one. InputError where the factor is empty or not finite.
/// @param factor Z [n, k]
SpectralDecomposition decompose_factor(const Array& factor);

/// A matrix that decompose_relationship() would refuse for a negative eigenvalue.
struct Indefinite {
  std::int64_t place;  ///< among the matrices
  double eigenvalue;   ///< its smallest
};
/// The first of some symmetric matrices that is not positive semidefinite. Mostly
/// Cholesky factors decide, which is far cheaper than eigenvalues.
/// @param matrices [count, m, m] float64
std::optional<Indefinite> find_indefinite(const Array& matrices);

}  // namespace kinflow
