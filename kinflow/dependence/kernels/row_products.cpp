// Products with rows of a matrix. Compiled once for each instruction set with the
// compiler's flags, KINFLOW_KERNELS (the name) and KINFLOW_VECTOR_BYTES, so everything
// but the tables has internal linkage.
#include "kinflow/dependence/kernels/row_products.h"

#include <algorithm>

#include "kinflow/core/vector_kernels.h"

namespace kinflow {
namespace {

// Rows and columns whose sums are in registers at the same time.
constexpr int kRows = 4;
constexpr int kColumns = KINFLOW_VECTOR_BYTES == 64 ? 4 : 2;
// Numbers of a row that stay in the first-level cache while all columns use them.
constexpr std::int64_t kSpan = 1024;

template <int Rows, int Columns, typename Real>
__attribute__((noinline)) void add_block(const Real* const* v, const Real* x,
                                         std::int64_t columns, std::int64_t length,
                                         Real* sums) {
  Real factor[Rows][Columns];
  for (int i = 0; i < Rows; ++i) {
    for (int c = 0; c < Columns; ++c) factor[i][c] = x[i * columns + c];
  }
  for (std::int64_t j = 0; j < length; j += kLanes<Real>) {
    Vec<Real> in[Rows];
    for (int i = 0; i < Rows; ++i) in[i] = load(v[i] + j);
    for (int c = 0; c < Columns; ++c) {
      Vec<Real> total = load(sums + c * length + j);
      for (int i = 0; i < Rows; ++i) total += in[i] * factor[i][c];
      store(sums + c * length + j, total);
    }
  }
}

template <typename Real>
void add_transposed(const MatrixRows<Real>& rows, std::int64_t begin, std::int64_t end,
                    const Real* x, std::int64_t columns, Real* sums) {
  const std::int64_t length = end - begin;
  for_blocks<kRows>(rows.count, [&]<int Rows>(std::int64_t first) {
    const Real* v[Rows];
    for (int i = 0; i < Rows; ++i) {
      v[i] = rows.matrix + rows.rows[first + i] * rows.stride + begin;
      // The rows after the next lie anywhere: the machine cannot guess them.
      if (first + i + 2 * kRows < rows.count) {
        const Real* later =
            rows.matrix + rows.rows[first + i + 2 * kRows] * rows.stride + begin;
        for (std::int64_t j = 0; j < length; j += 64 / std::int64_t{sizeof(Real)}) {
          __builtin_prefetch(later + j);
        }
      }
    }
    for_blocks<kColumns>(columns, [&]<int Columns>(std::int64_t column) {
      add_block<Rows, Columns>(v, x + first * columns + column, columns, length,
                               sums + column * length);
    });
  });
}

template <bool kSquares, int Rows, int Columns, typename Real>
__attribute__((noinline)) void multiply_block(const Real* const* v, const Real* y,
                                              std::int64_t stride, std::int64_t length,
                                              std::int64_t columns, double* results) {
  Vec<Real> total[Rows][Columns] = {};
  for (std::int64_t j = 0; j < length; j += kLanes<Real>) {
    Vec<Real> in[Rows];
    for (int i = 0; i < Rows; ++i) {
      in[i] = load(v[i] + j);
      if constexpr (kSquares) in[i] *= in[i];
    }
    for (int c = 0; c < Columns; ++c) {
      const Vec<Real> other = load(y + c * stride + j);
      for (int i = 0; i < Rows; ++i) total[i][c] += in[i] * other;
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int c = 0; c < Columns; ++c) {
      double sum = 0;
      for (int lane = 0; lane < kLanes<Real>; ++lane) sum += total[i][c][lane];
      results[i * columns + c] += sum;
    }
  }
}

template <typename Real>
void multiply(const MatrixRows<Real>& rows, const Real* y, std::int64_t columns,
              double* products, const Real* functions, std::int64_t function_count,
              double* squares) {
  std::fill_n(products, rows.count * columns, 0.0);
  std::fill_n(squares, rows.count * function_count, 0.0);
  for_blocks<kRows>(rows.count, [&]<int Rows>(std::int64_t first) {
    for (std::int64_t j = 0; j < rows.stride; j += kSpan) {
      const std::int64_t length = std::min(kSpan, rows.stride - j);
      const Real* v[Rows];
      for (int i = 0; i < Rows; ++i) {
        v[i] = rows.matrix + rows.rows[first + i] * rows.stride + j;
      }
      for_blocks<kColumns>(columns, [&]<int Columns>(std::int64_t column) {
        multiply_block<false, Rows, Columns>(v, y + column * rows.stride + j,
                                             rows.stride, length, columns,
                                             products + first * columns + column);
      });
      for_blocks<kColumns>(function_count, [&]<int Columns>(std::int64_t column) {
        multiply_block<true, Rows, Columns>(v, functions + column * rows.stride + j,
                                            rows.stride, length, function_count,
                                            squares + first * function_count + column);
      });
    }
  });
}

}  // namespace

extern const RowProducts<float> KINFLOW_TABLE(float_row_products_, KINFLOW_KERNELS);
extern const RowProducts<double> KINFLOW_TABLE(double_row_products_, KINFLOW_KERNELS);
const RowProducts<float> KINFLOW_TABLE(float_row_products_, KINFLOW_KERNELS) = {
    add_transposed<float>, multiply<float>};
const RowProducts<double> KINFLOW_TABLE(double_row_products_, KINFLOW_KERNELS) = {
    add_transposed<double>, multiply<double>};

}  // namespace kinflow
