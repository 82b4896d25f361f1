// The copy, and the choice of kernels.
#include "kinflow/dependence/row_matrix.h"

#include <type_traits>

namespace kinflow {

extern const RowProducts<float> float_row_products_portable;
extern const RowProducts<double> double_row_products_portable;
#ifdef KINFLOW_X86_KERNELS
extern const RowProducts<float> float_row_products_avx2, float_row_products_avx512;
extern const RowProducts<double> double_row_products_avx2, double_row_products_avx512;
#endif

namespace {

template <typename Real>
const RowProducts<Real>* products_of(InstructionSet set) {
  set = available(set);
  if constexpr (std::is_same_v<Real, float>) {
#ifdef KINFLOW_X86_KERNELS
    if (set == InstructionSet::avx512) return &float_row_products_avx512;
    if (set == InstructionSet::avx2) return &float_row_products_avx2;
#endif
    return &float_row_products_portable;
  } else {
#ifdef KINFLOW_X86_KERNELS
    if (set == InstructionSet::avx512) return &double_row_products_avx512;
    if (set == InstructionSet::avx2) return &double_row_products_avx2;
#endif
    return &double_row_products_portable;
  }
}

}  // namespace

template <typename Real>
RowMatrix<Real>::RowMatrix(const double* values, std::int64_t rows,
                           std::int64_t columns, InstructionSet set)
    : stride_((columns + kRowUnit - 1) / kRowUnit * kRowUnit),
      values_(static_cast<std::size_t>(rows * stride_)),
      products_(products_of<Real>(set)) {
  for (std::int64_t i = 0; i < rows; ++i) {
    Real* to = values_.data() + i * stride_;
    for (std::int64_t j = 0; j < columns; ++j) {
      to[j] = static_cast<Real>(values[i * columns + j]);
    }
  }
}

template class RowMatrix<float>;
template class RowMatrix<double>;

}  // namespace kinflow
