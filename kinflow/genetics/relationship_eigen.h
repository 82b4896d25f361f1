// The spectral decomposition of a relationship, in whose coordinates the rows of a
// mixed model are independent.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// K = U diag(values) U'.
struct RelationshipEigen {
  std::int64_t rows = 0;
  std::vector<double> values;   ///< [rows] ascending, none below 0
  std::vector<double> vectors;  ///< U [rows x rows], column-major
};

/// K minus the means of its rows and columns (GEMMA does this to every K). Tests and
/// REML of a model with an intercept stay the same, ML and the score test do not.
/// @param matrix  [rows x rows] symmetric
void center_relationship(std::vector<double>& matrix, std::int64_t rows);

/// @param matrix  [rows x rows] symmetric; eigenvalues below 1e-10 of the largest
///                become 0
/// InputError where an eigenvalue is below -1e-3 of the largest one: such a matrix is
/// not a relationship that rounding has touched. NumericalError where LAPACK fails.
RelationshipEigen eigen_of_relationship(std::vector<double> matrix, std::int64_t rows);

/// Sets negative eigenvalues to 0, as matrices have them whose entries come from
/// different variants, and gives the smallest one; 0, with the matrix as it is, where
/// none is below -1e-8 of the trace. InputError as in eigen_of_relationship().
double make_semidefinite(std::vector<double>& matrix, std::int64_t rows);

/// U'M, [rows x columns], column-major like M.
std::vector<double> rotate(const RelationshipEigen& eigen, const double* matrix,
                           std::int64_t columns);
/// The same into memory of the caller.
void rotate(const RelationshipEigen& eigen, const double* matrix, std::int64_t columns,
            double* rotated);

}  // namespace kinflow
