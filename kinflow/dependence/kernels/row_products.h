// Thin products with some rows of a large matrix, taken where the rows stand.
#pragma once

#include <cstdint>

namespace kinflow {

/// Some rows of a matrix with rows of `stride` numbers; the stride is a whole number of
/// kRowUnit.
template <typename Real>
struct MatrixRows {
  const Real* matrix;
  std::int64_t stride;
  const std::int64_t* rows;  ///< [count]
  std::int64_t count;
};

/// Numbers in the widest vector.
inline constexpr std::int64_t kRowUnit = 16;

/// The kernels of one instruction set. A column's result does not depend on the other
/// columns, to the last bit.
template <typename Real>
struct RowProducts {
  /// Adds V'X for columns [begin, end) of the rows V, whole numbers of kRowUnit:
  ///     sums[c][j - begin] += sum_i V[i][j] x[i][c]
  /// @param x [count][columns]  @param sums [columns][end - begin]
  void (*add_transposed)(const MatrixRows<Real>& rows, std::int64_t begin,
                         std::int64_t end, const Real* x, std::int64_t columns,
                         Real* sums);
  /// V Y, and the same with squared elements of V:
  ///     products[i][c] = sum_j V[i][j] y[c][j]
  ///     squares[i][f] = sum_j V[i][j]^2 functions[f][j]
  /// @param y [columns][stride]  @param functions [function_count][stride]
  void (*multiply)(const MatrixRows<Real>& rows, const Real* y, std::int64_t columns,
                   double* products, const Real* functions, std::int64_t function_count,
                   double* squares);
};

}  // namespace kinflow
