// The spectral decomposition of a relationship, in whose coordinates the rows of a
// mixed model are independent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kinflow {

/// K = U diag(values) U'.
struct RelationshipEigen {
  std::int64_t rows = 0;
  std::vector<double> values;   ///< [rows] ascending, none below 0
  std::vector<double> vectors;  ///< U [rows x rows], column-major
};

/// Rows up to which LAPACK's workspace, 1 + 6 n + 2 n^2 numbers, has a 32-bit size.
inline constexpr std::int64_t kMostDecomposedRows = 32'766;

/// K minus the means of its rows and columns (GEMMA does this to every K). Tests and
/// REML of a model with an intercept stay the same, ML and the score test do not.
/// @param matrix  [rows x rows] symmetric
void center_relationship(std::vector<double>& matrix, std::int64_t rows);

/// @param matrix  [rows x rows] symmetric; eigenvalues below 1e-10 of the largest
///                become 0
/// InputError where an eigenvalue is below -1e-3 of the largest one: such a matrix is
/// not a relationship that rounding has touched. NumericalError where LAPACK fails.
RelationshipEigen eigen_of_relationship(std::vector<double> matrix, std::int64_t rows);

/// InputError, with the file in front, where the centred matrix has an eigenvalue that
/// eigen_of_relationship() refuses. A Cholesky factor decides, which takes a small part
/// of the time of a decomposition, and eigenvalues where there is none.
void require_semidefinite(std::vector<double> matrix, std::int64_t rows,
                          const std::string& source);

/// Sets the negative eigenvalues of a matrix to 0, where there are some beyond
/// rounding (5e-9 of the largest one for each row), and gives the smallest one;
/// nothing, with the matrix left as it is, where there are none. A mean over the
/// variants that two people both have, as GCTA's matrix is one, can have some where
/// genotypes are missing.
std::optional<double> clip_negative_eigenvalues(std::vector<double>& matrix,
                                                std::int64_t rows);

/// U'M, [rows x columns], column-major like M.
std::vector<double> rotate(const RelationshipEigen& eigen, const double* matrix,
                           std::int64_t columns);
/// The same into memory of the caller.
void rotate(const RelationshipEigen& eigen, const double* matrix, std::int64_t columns,
            double* rotated);

}  // namespace kinflow
