// Decompositions of matrices by LAPACK, and what follows from them.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kinflow/array/strided_loops.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace nd {
namespace {

// LAPACK's functions of both types under one name. A row of ours is a column of LAPACK.
template <typename Number>
struct Lapack;
template <>
struct Lapack<double> {
  static constexpr auto potrf = LAPACKE_dpotrf;
  static constexpr auto potri = LAPACKE_dpotri;
  static constexpr auto syevd = LAPACKE_dsyevd;
  static constexpr auto geqrf = LAPACKE_dgeqrf;
  static constexpr auto orgqr = LAPACKE_dorgqr;
  static constexpr auto gesdd = LAPACKE_dgesdd;
  static constexpr auto getrf = LAPACKE_dgetrf;
  static constexpr auto gesv = LAPACKE_dgesv;
  static constexpr auto trsm = cblas_dtrsm;
};
template <>
struct Lapack<float> {
  static constexpr auto potrf = LAPACKE_spotrf;
  static constexpr auto potri = LAPACKE_spotri;
  static constexpr auto syevd = LAPACKE_ssyevd;
  static constexpr auto geqrf = LAPACKE_sgeqrf;
  static constexpr auto orgqr = LAPACKE_sorgqr;
  static constexpr auto gesdd = LAPACKE_sgesdd;
  static constexpr auto getrf = LAPACKE_sgetrf;
  static constexpr auto gesv = LAPACKE_sgesv;
  static constexpr auto trsm = cblas_strsm;
};

lapack_int whole(std::int64_t number) { return static_cast<lapack_int>(number); }

// A row of a matrix in memory, which LAPACK wants to be at least 1.
lapack_int row_of(const Array& matrix) {
  return whole(std::max<std::int64_t>(1, matrix.size(-1)));
}

void check(lapack_int code, const char* what) {
  if (code == 0) return;
  throw NumericalError(std::string("[") + what + "] LAPACK ends with code " +
                       std::to_string(code));
}

std::int64_t matrices_in(const Array& stack) {
  std::int64_t count = 1;
  for (std::int64_t a = 0; a + 2 < stack.dim(); ++a) count *= stack.size(a);
  return count;
}

// The stack with one axis before its matrices.
Array flat_stack(const Array& stack) {
  return stack.reshape({matrices_in(stack), stack.size(-2), stack.size(-1)});
}

IntArrayRef sizes_before(const Array& stack, std::size_t axes) {
  return stack.sizes().slice(0, stack.sizes().size() - axes);
}

IntArrayRef and_then(IntArrayRef sizes, std::initializer_list<std::int64_t> last) {
  for (const auto length : last) sizes.push_back(length);
  return sizes;
}

// Zeros above the diagonals of a contiguous stack.
void clear_upper(const Array& stack) {
  const auto n = stack.size(-1);
  for_real_type(stack.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    auto* row = stack.data_ptr<Number>();
    for (std::int64_t m = 0; m < matrices_in(stack); ++m) {
      for (std::int64_t i = 0; i < n; ++i, row += n)
        std::fill(row + i + 1, row + n, Number{0});
    }
  });
}

// B := triangle^-1 B or B triangle^-1, of contiguous matrices.
void solve_in_place(const Array& triangle, const Array& right, bool upper, bool left,
                    bool transposed, bool unit) {
  for_real_type(right.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    Lapack<Number>::trsm(CblasRowMajor, left ? CblasLeft : CblasRight,
                         upper ? CblasUpper : CblasLower,
                         transposed ? CblasTrans : CblasNoTrans,
                         unit ? CblasUnit : CblasNonUnit, whole(right.size(0)),
                         whole(right.size(1)), Number{1}, triangle.data_ptr<Number>(),
                         row_of(triangle), right.data_ptr<Number>(), row_of(right));
  });
}

// A copy of B, with room for all matrices of both stacks, and A broadcast to it.
std::pair<Array, Array> broadcast_stacks(const Array& a, const Array& b) {
  const auto stack = broadcast_sizes(sizes_before(a, 2), sizes_before(b, 2));
  const auto left = a.expand(and_then(stack, {a.size(-2), a.size(-1)}));
  const auto right = b.expand(and_then(stack, {b.size(-2), b.size(-1)})).clone();
  return {left, right};
}

}  // namespace

std::tuple<Array, Array> linalg_cholesky_ex(const Array& matrix) {
  const auto factors = matrix.clone();
  const auto codes = zeros(sizes_before(matrix, 2), kLong);
  const auto flat = flat_stack(factors);
  for_real_type(matrix.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    for (std::int64_t i = 0; i < flat.size(0); ++i) {
      codes.data_ptr<std::int64_t>()[i] =
          Lapack<Number>::potrf(LAPACK_COL_MAJOR, 'U', whole(flat.size(1)),
                                flat[i].template data_ptr<Number>(), row_of(flat));
    }
  });
  clear_upper(factors);
  return {factors, codes};
}

Array linalg_cholesky(const Array& matrix) {
  const auto [factor, codes] = linalg_cholesky_ex(matrix);
  if (codes.ne(0).any().item<bool>()) {
    throw NumericalError("[linalg_cholesky] a matrix is not positive definite");
  }
  return factor;
}

Array cholesky_solve(const Array& right, const Array& lower) {
  auto [triangles, result] = broadcast_stacks(lower, right);
  const auto flat = flat_stack(triangles.contiguous()), to = flat_stack(result);
  for (std::int64_t i = 0; i < flat.size(0); ++i) {
    solve_in_place(flat[i], to[i], false, true, false, false);
    solve_in_place(flat[i], to[i], false, true, true, false);
  }
  return result;
}

Array cholesky_inverse(const Array& lower) {
  const auto result = lower.clone();
  const auto flat = flat_stack(result);
  const auto n = lower.size(-1);
  for_real_type(lower.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    for (std::int64_t m = 0; m < flat.size(0); ++m) {
      auto* numbers = flat[m].template data_ptr<Number>();
      check(
          Lapack<Number>::potri(LAPACK_COL_MAJOR, 'U', whole(n), numbers, row_of(flat)),
          "cholesky_inverse");
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) numbers[j * n + i] = numbers[i * n + j];
      }
    }
  });
  return result;
}

Array linalg_solve_triangular(const Array& triangle, const Array& right, bool upper,
                              bool left, bool unitriangular) {
  auto [triangles, result] = broadcast_stacks(triangle, right);
  const auto flat = flat_stack(triangles), to = flat_stack(result);
  for (std::int64_t i = 0; i < to.size(0); ++i) {
    // The transpose of rows is a triangle of the other kind.
    const auto own = flat[i];
    const bool is_transposed = !own.is_contiguous() && own.t().is_contiguous();
    solve_in_place(is_transposed ? own.t() : own.contiguous(), to[i],
                   is_transposed ? !upper : upper, left, is_transposed, unitriangular);
  }
  return result;
}

Array linalg_solve(const Array& matrix, const Array& right) {
  if (right.dim() == 1 || right.sizes() == sizes_before(matrix, 1)) {
    return linalg_solve(matrix, right.unsqueeze(-1)).squeeze(-1);
  }
  auto [matrices, result] = broadcast_stacks(matrix, right);
  const auto flat = flat_stack(matrices.clone()), to = flat_stack(result);
  std::vector<lapack_int> pivots(static_cast<std::size_t>(matrix.size(-1)));
  for_real_type(matrix.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    for (std::int64_t i = 0; i < to.size(0); ++i) {
      check(Lapack<Number>::gesv(LAPACK_ROW_MAJOR, whole(flat.size(1)),
                                 whole(to.size(2)), flat[i].template data_ptr<Number>(),
                                 row_of(flat), pivots.data(),
                                 to[i].template data_ptr<Number>(), row_of(to)),
            "linalg_solve");
    }
  });
  return result;
}

namespace {

// Eigenvalues, and in place of the matrices their eigenvectors as rows where asked for.
Array eigenvalues(const Array& matrices, bool vectors) {
  const auto n = matrices.size(-1);
  const auto values =
      empty(and_then(sizes_before(matrices, 2), {n}), matrices.scalar_type());
  const auto flat = flat_stack(matrices), to = values.view({-1, n});
  for_real_type(matrices.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    for (std::int64_t i = 0; i < flat.size(0); ++i) {
      check(Lapack<Number>::syevd(LAPACK_COL_MAJOR, vectors ? 'V' : 'N', 'U', whole(n),
                                  flat[i].template data_ptr<Number>(), row_of(flat),
                                  to[i].template data_ptr<Number>()),
            "linalg_eigh");
    }
  });
  return values;
}

}  // namespace

std::tuple<Array, Array> linalg_eigh(const Array& matrix, const char* /*triangle*/) {
  const auto vectors = matrix.clone();
  const auto values = eigenvalues(vectors, true);
  return {values, vectors.mT()};
}

Array linalg_eigvalsh(const Array& matrix) {
  return eigenvalues(matrix.clone(), false);
}

std::tuple<Array, Array> linalg_qr(const Array& matrix) {
  const auto n = matrix.size(-2), m = matrix.size(-1), k = std::min(n, m);
  const auto q = empty(and_then(sizes_before(matrix, 2), {n, k}), matrix.scalar_type());
  const auto r = empty(and_then(sizes_before(matrix, 2), {k, m}), matrix.scalar_type());
  const auto packed = flat_stack(matrix.clone()), of_q = flat_stack(q),
             of_r = flat_stack(r);
  for_real_type(matrix.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    std::vector<Number> factors(static_cast<std::size_t>(k));
    for (std::int64_t i = 0; i < packed.size(0); ++i) {
      auto* numbers = packed[i].template data_ptr<Number>();
      check(Lapack<Number>::geqrf(LAPACK_ROW_MAJOR, whole(n), whole(m), numbers,
                                  row_of(packed), factors.data()),
            "linalg_qr");
      of_r[i].copy_(packed[i].narrow(0, 0, k).triu());
      of_q[i].copy_(packed[i].narrow(1, 0, k));
      check(Lapack<Number>::orgqr(LAPACK_ROW_MAJOR, whole(n), whole(k), whole(k),
                                  of_q[i].template data_ptr<Number>(), row_of(of_q),
                                  factors.data()),
            "linalg_qr");
    }
  });
  return {q, r};
}

std::tuple<Array, Array, Array> linalg_svd(const Array& matrix, bool full_matrices) {
  require(matrix.dim() == 2 && !full_matrices,
          "expected one matrix, and reduced factors");
  const auto n = matrix.size(0), m = matrix.size(1), k = std::min(n, m);
  const auto type = matrix.scalar_type();
  const auto u = empty({n, k}, type), s = empty({k}, type), v = empty({k, m}, type);
  const auto copy = matrix.clone();
  for_real_type(type, [&](auto zero) {
    using Number = decltype(zero);
    check(Lapack<Number>::gesdd(LAPACK_ROW_MAJOR, 'S', whole(n), whole(m),
                                copy.data_ptr<Number>(), row_of(copy),
                                s.data_ptr<Number>(), u.data_ptr<Number>(), row_of(u),
                                v.data_ptr<Number>(), row_of(v)),
          "linalg_svd");
  });
  return {u, s, v};
}

std::tuple<Array, Array, Array> svd(const Array& matrix) {
  const auto [u, s, v] = linalg_svd(matrix);
  return {u, s, v.t()};
}

namespace {

// L and U in place of each matrix, and the rows that were exchanged, [count, k] from 0.
Array factorize(const Array& flat) {
  const auto n = flat.size(1), m = flat.size(2), k = std::min(n, m);
  const auto exchanged = empty({flat.size(0), k}, kLong);
  std::vector<lapack_int> pivots(static_cast<std::size_t>(k));
  for_real_type(flat.scalar_type(), [&](auto zero) {
    using Number = decltype(zero);
    for (std::int64_t i = 0; i < flat.size(0); ++i) {
      // A positive code is a pivot of 0, which the factors show too.
      const auto code = Lapack<Number>::getrf(LAPACK_ROW_MAJOR, whole(n), whole(m),
                                              flat[i].template data_ptr<Number>(),
                                              row_of(flat), pivots.data());
      check(std::min<lapack_int>(code, 0), "linalg_lu");
      for (std::int64_t j = 0; j < k; ++j) {
        exchanged.data_ptr<std::int64_t>()[i * k + j] =
            pivots[static_cast<std::size_t>(j)] - 1;
      }
    }
  });
  return exchanged;
}

}  // namespace

std::tuple<Array, Array, Array> linalg_lu(const Array& matrix) {
  require(matrix.dim() == 2, "expected one matrix");
  const auto n = matrix.size(0), k = std::min(n, matrix.size(1));
  const auto packed = matrix.clone();
  const auto exchanged = factorize(packed.unsqueeze(0));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<std::int64_t>(i);
  for (std::int64_t j = 0; j < k; ++j) {
    std::swap(order[static_cast<std::size_t>(j)],
              order[static_cast<std::size_t>(exchanged.data_ptr<std::int64_t>()[j])]);
  }
  // Row order[i] of the matrix is row i of the product.
  const auto permutation = zeros({n, n}, matrix.scalar_type());
  permutation.index_put_({tensor(order), arange(n)}, 1);
  const auto lower = packed.narrow(1, 0, k).tril(-1);
  lower.diagonal().fill_(1);
  return {permutation, lower, packed.narrow(0, 0, k).triu()};
}

Array linalg_inv(const Array& matrix) {
  return linalg_solve(matrix,
                      eye(matrix.size(-1), matrix.options()).expand(matrix.sizes()));
}

Array linalg_pinv(const Array& matrix, double tolerance, bool hermitian) {
  const auto inverted = [&](const Array& values) {
    const auto size = values.abs();
    const auto least = size.max() * tolerance;
    return where(size.gt(least), values.reciprocal(), zeros_like(values));
  };
  if (hermitian) {
    const auto [values, vectors] = linalg_eigh(matrix);
    return mm(vectors * inverted(values), vectors.t());
  }
  const auto [u, s, v] = svd(matrix);
  return mm(v * inverted(s), u.t());
}

Array pinverse(const Array& matrix) { return linalg_pinv(matrix, 1e-15, false); }

std::tuple<Array, Array> linalg_slogdet(const Array& matrix) {
  const auto packed = flat_stack(matrix.clone());
  const auto exchanged = factorize(packed);
  const auto diagonal = packed.diagonal(0, 1, 2);
  const auto swaps = exchanged.ne(arange(packed.size(1))).sum(1).remainder(2);
  auto sign = (1 - 2 * swaps).to(matrix.scalar_type());
  for (std::int64_t j = 0; j < packed.size(1); ++j) {
    sign = sign * diagonal.select(1, j).sign();
  }
  const auto before = sizes_before(matrix, 2);
  return {sign.view(before), diagonal.abs().log().sum(1).view(before)};
}

}  // namespace nd
}  // namespace kinflow
