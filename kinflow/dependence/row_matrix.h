// A large matrix of which products need some rows at a time.
#pragma once

#include <cstdint>

#include "kinflow/core/aligned_vector.h"
#include "kinflow/core/instruction_set.h"
#include "kinflow/dependence/kernels/row_products.h"

namespace kinflow {

/// A copy of a matrix whose rows begin at cache lines and end in zeros, with the
/// kernels for them.
template <typename Real>
class RowMatrix {
 public:
  /// @param values [rows][columns]
  RowMatrix(const double* values, std::int64_t rows, std::int64_t columns,
            InstructionSet set = InstructionSet::best);

  /// Numbers from one row to the next, a whole number of kRowUnit.
  std::int64_t stride() const { return stride_; }
  /// @param rows [count], which must outlive the result
  MatrixRows<Real> rows(const std::int64_t* rows, std::int64_t count) const {
    return {values_.data(), stride_, rows, count};
  }
  const RowProducts<Real>& products() const { return *products_; }

 private:
  std::int64_t stride_;
  AlignedVector<Real> values_;
  const RowProducts<Real>* products_;
};

extern template class RowMatrix<float>;
extern template class RowMatrix<double>;

}  // namespace kinflow
