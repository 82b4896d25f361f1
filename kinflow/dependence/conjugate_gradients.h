// Solutions of many equations with C = lambda I + (1 - lambda) G side by side.
#pragma once

#include <cstdint>
#include <functional>

#include "kinflow/array/array.h"

namespace kinflow {

/// Positive definite matrices that differ in lambda, column by column.
struct ShiftedSystem {
  /// A product with a matrix [n, c] for lambda [c]: [n, c].
  using Product = std::function<Array(const Array&, const Array&)>;
  Product times;
  Product precondition;
  /// Of G, for the size of rounding errors.
  double largest_eigenvalue;
};

struct ConjugateGradientOptions {
  /// On |b - C x| / |b| of every column. Where the rounding of C x alone is larger,
  /// that is as good as solved.
  double tolerance = 1e-8;
  std::int64_t max_iterations = 1000;
};

struct Solution {
  Array values;              ///< [n, c] float64
  std::int64_t iterations;   ///< of the column that needed most
  double relative_residual;  ///< the largest, from b - C x at the end
};

/// Conjugate gradients for every column, with one product for all that have not
/// converged. NumericalError where a column does not converge within the iterations, or
/// a matrix turns out not to be positive definite.
/// @param right [n, c]  @param lambda [c]  @param start [n, c], or undefined for 0
Solution conjugate_gradients(const ShiftedSystem& system, const Array& right,
                             const Array& lambda, const Array& start,
                             const ConjugateGradientOptions& options);

}  // namespace kinflow
