// Products of matrices by OpenBLAS.
#include <cblas.h>

#include <algorithm>
#include <complex>

#include "kinflow/array/strided_loops.h"
#include "kinflow/core/workers.h"

namespace kinflow {
namespace nd {
namespace {

void gemm(bool transposed_a, bool transposed_b, std::int64_t m, std::int64_t n,
          std::int64_t k, double alpha, const double* a, std::int64_t row_of_a,
          const double* b, std::int64_t row_of_b, double beta, double* c,
          std::int64_t row_of_c) {
  cblas_dgemm(CblasRowMajor, transposed_a ? CblasTrans : CblasNoTrans,
              transposed_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), alpha, a,
              static_cast<blasint>(row_of_a), b, static_cast<blasint>(row_of_b), beta,
              c, static_cast<blasint>(row_of_c));
}

void gemm(bool transposed_a, bool transposed_b, std::int64_t m, std::int64_t n,
          std::int64_t k, double alpha, const float* a, std::int64_t row_of_a,
          const float* b, std::int64_t row_of_b, double beta, float* c,
          std::int64_t row_of_c) {
  cblas_sgemm(CblasRowMajor, transposed_a ? CblasTrans : CblasNoTrans,
              transposed_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k),
              static_cast<float>(alpha), a, static_cast<blasint>(row_of_a), b,
              static_cast<blasint>(row_of_b), static_cast<float>(beta), c,
              static_cast<blasint>(row_of_c));
}

// Whether the rows of a matrix are contiguous and do not overlap.
bool has_rows(const Array& matrix) {
  return (matrix.size(1) <= 1 || matrix.stride(1) == 1) &&
         (matrix.size(0) <= 1 || matrix.stride(0) >= matrix.size(1));
}

// A matrix as BLAS takes it: itself, its transpose, or a copy.
struct Operand {
  explicit Operand(const Array& given) : matrix(given) {
    if (has_rows(matrix)) return;
    is_transposed = has_rows(matrix.t());
    matrix = is_transposed ? matrix.t() : matrix.contiguous();
  }
  std::int64_t row() const {
    return matrix.size(0) > 1 ? matrix.stride(0)
                              : std::max<std::int64_t>(1, matrix.size(1));
  }
  Array matrix;
  bool is_transposed = false;
};

// out = alpha a b + beta out, in the type of out.
void multiply(const Array& out, const Array& a, const Array& b, double alpha,
              double beta) {
  require(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0) &&
              out.size(0) == a.size(0) && out.size(1) == b.size(1),
          "matrices do not fit");
  require(a.scalar_type() == out.scalar_type() && b.scalar_type() == out.scalar_type(),
          "expected matrices of one type");
  if (out.numel() == 0) return;
  if (a.size(1) == 0) {
    if (beta == 0) {
      out.zero_();
    } else {
      out.mul_(beta);
    }
    return;
  }
  if (!has_rows(out)) {
    if (has_rows(out.t())) return multiply(out.t(), b.t(), a.t(), alpha, beta);
    const auto rows = out.contiguous();
    multiply(rows, a, b, alpha, beta);
    out.copy_(rows);
    return;
  }
  const Operand left(a), right(b);
  for_real_type(out.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    gemm(left.is_transposed, right.is_transposed, out.size(0), out.size(1), a.size(1),
         alpha, left.matrix.data_ptr<Number>(), left.row(),
         right.matrix.data_ptr<Number>(), right.row(), beta, out.data_ptr<Number>(),
         Operand(out).row());
  });
}

// The axes before the last two of a stack of matrices.
IntArrayRef stack_sizes(const Array& array) {
  return array.sizes().slice(0, array.sizes().size() - 2);
}

// out = a b + beta out for every matrix of stacks of one shape; out is contiguous.
void multiply_stacks(const Array& out, const Array& a, const Array& b, double beta) {
  require(a.dim() == out.dim() && b.dim() == out.dim() && out.dim() > 2 &&
              a.size(-1) == b.size(-2) && out.size(-2) == a.size(-2) &&
              out.size(-1) == b.size(-1) && stack_sizes(a) == stack_sizes(out) &&
              stack_sizes(b) == stack_sizes(out),
          "matrices do not fit");
  require(a.scalar_type() == out.scalar_type() && b.scalar_type() == out.scalar_type(),
          "expected matrices of one type");
  if (out.numel() == 0) return;
  if (a.size(-1) == 0) {
    if (beta == 0) out.zero_();
    return;
  }
  // All matrices of a stack lie in memory as the first one does.
  const auto matrix = [](Array stack) {
    while (stack.dim() > 2) stack = stack[0];
    return stack;
  };
  const auto for_blas = [&](const Array& stack) {
    const auto first = matrix(stack);
    return has_rows(first) || has_rows(first.t()) ? stack : stack.contiguous();
  };
  const auto corners = [](const Array& stack) {
    return stack.select(-1, 0).select(-1, 0);
  };
  const auto left = for_blas(a), right = for_blas(b);
  const Operand of_left(matrix(left)), of_right(matrix(right));
  for_real_type(out.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    for_each_row<3>(
        {corners(out), corners(left), corners(right)},
        [&](Places<3> p, Steps<3> s, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) {
            gemm(of_left.is_transposed, of_right.is_transposed, out.size(-2),
                 out.size(-1), a.size(-1), 1,
                 reinterpret_cast<const Number*>(p[1] + i * s[1]), of_left.row(),
                 reinterpret_cast<const Number*>(p[2] + i * s[2]), of_right.row(), beta,
                 reinterpret_cast<Number*>(p[0] + i * s[0]), out.size(-1));
          }
        });
  });
}

IntArrayRef with_matrix(IntArrayRef sizes, std::int64_t rows, std::int64_t columns) {
  sizes.push_back(rows);
  sizes.push_back(columns);
  return sizes;
}

}  // namespace

Array mm(const Array& a, const Array& b) {
  const auto out = empty({a.size(0), b.size(1)}, a.scalar_type());
  multiply(out, a, b, 1, 0);
  return out;
}

void mm_out(const Array& out, const Array& a, const Array& b) {
  multiply(out, a, b, 1, 0);
}

void addmm_out(const Array& out, const Array& added, const Array& a, const Array& b) {
  if (!out.is_same(added)) out.copy_(added);
  multiply(out, a, b, 1, 1);
}

Array addmm(const Array& added, const Array& a, const Array& b, Scalar of_added,
            Scalar of_product) {
  const auto out = empty({a.size(0), b.size(1)}, a.scalar_type());
  out.copy_(added);
  multiply(out, a, b, of_product.to<double>(), of_added.to<double>());
  return out;
}

Array mv(const Array& a, const Array& b) { return mm(a, b.unsqueeze(1)).squeeze(1); }

Array dot(const Array& a, const Array& b) { return (a * b).sum(); }

Array outer(const Array& a, const Array& b) { return a.unsqueeze(1) * b.unsqueeze(0); }

Array kron(const Array& a, const Array& b) {
  return (a.view({a.size(0), 1, a.size(1), 1}) * b.view({1, b.size(0), 1, b.size(1)}))
      .reshape({a.size(0) * b.size(0), a.size(1) * b.size(1)});
}

Array bmm(const Array& a, const Array& b) { return matmul(a, b); }

Array baddbmm(const Array& added, const Array& a, const Array& b) {
  const auto out = empty({a.size(0), a.size(1), b.size(2)}, a.scalar_type());
  out.copy_(added);
  multiply_stacks(out, a, b, 1);
  return out;
}

Array matmul(const Array& a, const Array& b) {
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b).squeeze(-2);
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (b.dim() == 2) {
    return mm(a.flatten(0, -2), b)
        .view(with_matrix(stack_sizes(a), a.size(-2), b.size(-1)));
  }
  const auto stack = broadcast_sizes(stack_sizes(a), stack_sizes(b));
  const auto left = a.expand(with_matrix(stack, a.size(-2), a.size(-1)));
  const auto right = b.expand(with_matrix(stack, b.size(-2), b.size(-1)));
  const auto out = empty(with_matrix(stack, a.size(-2), b.size(-1)), a.scalar_type());
  multiply_stacks(out, left, right, 0);
  return out;
}

Array tensordot(const Array& a, const Array& b, const IntArrayRef& axes_of_a,
                const IntArrayRef& axes_of_b) {
  // The axes that are summed become one, the last of a and the first of b.
  const auto split = [](const Array& array, const IntArrayRef& axes, bool summed_last) {
    IntArrayRef order, kept;
    for (std::int64_t i = 0; i < array.dim(); ++i) {
      const bool is_summed = std::any_of(axes.begin(), axes.end(), [&](auto axis) {
        return axis_of(axis, array.dim()) == i;
      });
      if (!is_summed) {
        order.push_back(i);
        kept.push_back(array.size(i));
      }
    }
    std::int64_t summed = 1, rest = 1;
    for (const auto length : kept) rest *= length;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = axis_of(axes[i], array.dim());
      order.insert(summed_last ? order.size() : i, axis);
      summed *= array.size(axis);
    }
    const auto moved = array.permute(order);
    return std::pair(
        summed_last ? moved.reshape({rest, summed}) : moved.reshape({summed, rest}),
        kept);
  };
  const auto [left, kept_of_a] = split(a, axes_of_a, true);
  const auto [right, kept_of_b] = split(b, axes_of_b, false);
  auto sizes = kept_of_a;
  for (const auto length : kept_of_b) sizes.push_back(length);
  return mm(left, right).view(sizes);
}

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (begin >= end) return;
  auto& workers = shared_workers();
  const auto pieces = std::clamp<std::int64_t>(
      (end - begin) / std::max<std::int64_t>(1, grain), 1, workers.threads());
  const auto length = (end - begin + pieces - 1) / pieces;
  workers.run(pieces, [&](std::int64_t piece, std::int64_t /*thread*/) {
    const auto first = begin + piece * length;
    if (first < end) work(first, std::min(end, first + length));
  });
}

}  // namespace nd

Array Array::mm(const Array& other) const { return nd::mm(*this, other); }
Array Array::mv(const Array& vector) const { return nd::mv(*this, vector); }
Array Array::bmm(const Array& other) const { return nd::bmm(*this, other); }
Array Array::matmul(const Array& other) const { return nd::matmul(*this, other); }
Array Array::dot(const Array& other) const { return nd::dot(*this, other); }
const Array& Array::addmm_(const Array& a, const Array& b) const {
  nd::multiply(*this, a, b, 1, 1);
  return *this;
}
Array Array::inverse() const { return nd::linalg_inv(*this); }

}  // namespace kinflow
