// New arrays, functions of several arrays, products and decompositions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "kinflow/array/cpu_array.h"

namespace kinflow {
namespace nd {

// New arrays.
Array empty(const IntArrayRef& sizes, TensorOptions options = {});
Array zeros(const IntArrayRef& sizes, TensorOptions options = {});
Array ones(const IntArrayRef& sizes, TensorOptions options = {});
Array full(const IntArrayRef& sizes, Scalar value, TensorOptions options = {});
Array empty_like(const Array& array);
Array zeros_like(const Array& array);
Array ones_like(const Array& array);
Array full_like(const Array& array, Scalar value);
Array zeros_like(const Array& array, TensorOptions options);
Array ones_like(const Array& array, TensorOptions options);
Array arange(std::int64_t end, TensorOptions options = kLong);
Array arange(std::int64_t first, std::int64_t end, TensorOptions options = kLong);
Array eye(std::int64_t n, TensorOptions options = {});
Array linspace(double first, double last, std::int64_t count,
               TensorOptions options = {});
Array tril_indices(std::int64_t rows, std::int64_t columns);
/// Numbers that somebody else holds; they must outlive the array. They may be null
/// where there are none.
Array from_blob(void* numbers, const IntArrayRef& sizes, TensorOptions options);

/// A copy of some numbers, in one axis.
Array tensor(const std::vector<double>& numbers, TensorOptions options = kDouble);
Array tensor(const std::vector<std::int64_t>& numbers, TensorOptions options = kLong);
Array tensor(const std::vector<std::uint8_t>& numbers, TensorOptions options = kByte);
Array tensor(std::initializer_list<double> numbers, TensorOptions options = kDouble);

Array cat(const std::vector<Array>& arrays, std::int64_t axis = 0);
Array stack(const std::vector<Array>& arrays, std::int64_t axis = 0);
/// Zeros, or another value, before and after the last axis, then those of the axis
/// before it, and so on.
Array constant_pad_nd(const Array& array, const IntArrayRef& beside, Scalar value = 0);
Array diag(const Array& array);
Array diag_embed(const Array& array);

// Element by element.
Array where(const Array& condition, const Array& a, const Array& b);
Array where(const Array& condition, const Array& a, Scalar b);
Array where(const Array& condition, Scalar a, const Array& b);
void where_out(const Array& out, const Array& condition, const Array& a,
               const Array& b);
Array lerp(const Array& a, const Array& b, Scalar share);
Array lerp(const Array& a, const Array& b, const Array& share);
Array addcmul(const Array& array, const Array& a, const Array& b);
Array pow(const Array& base, const Array& exponent);
Array logit(const Array& array, std::optional<double> smallest = {});
Array softmax(const Array& array, std::int64_t axis);
Array softplus(const Array& array);
Array silu(const Array& array);
inline Array log(const Array& array) { return array.log(); }
inline Array log1p(const Array& array) { return array.log1p(); }
inline Array sin(const Array& array) { return array.sin(); }
inline Array sigmoid(const Array& array) { return array.sigmoid(); }
inline Array isfinite(const Array& array) { return array.isfinite(); }
inline Array isnan(const Array& array) { return array.isnan(); }
inline Array minimum(const Array& a, const Array& b) { return a.minimum(b); }
inline Array maximum(const Array& a, const Array& b) { return a.maximum(b); }
inline Array max(const Array& a, const Array& b) { return a.maximum(b); }
inline Array nan_to_num(const Array& array, double nan, std::optional<double> positive,
                        std::optional<double> negative) {
  return array.nan_to_num(nan, positive, negative);
}
inline Array cumsum(const Array& array, std::int64_t axis) {
  return array.cumsum(axis);
}
inline Array nonzero(const Array& array) { return array.nonzero(); }
inline bool equal(const Array& a, const Array& b) { return a.equal(b); }
bool allclose(const Array& a, const Array& b, double relative = 1e-5,
              double absolute = 1e-8);
inline std::tuple<Array, Array> sort(const Array& array, std::int64_t axis = -1) {
  return array.sort(axis);
}
/// Distinct numbers in increasing order, the place of every number among them, and how
/// often each is there.
std::tuple<Array, Array, Array> _unique2(const Array& array, bool sorted,
                                         bool return_inverse = false,
                                         bool return_counts = false);
Array bincount(const Array& array, const Array& weights, std::int64_t least);
Array take_along_dim(const Array& array, const Array& places, std::int64_t axis);
/// The value below which a share of the numbers that are not NaN lies.
Array nanquantile(const Array& array, double share, std::int64_t axis);
void sum_out(const Array& out, const Array& array, const IntArrayRef& axes);

// Products.
Array mm(const Array& a, const Array& b);
Array mv(const Array& a, const Array& b);
Array bmm(const Array& a, const Array& b);
Array dot(const Array& a, const Array& b);
Array outer(const Array& a, const Array& b);
Array kron(const Array& a, const Array& b);
/// The last two axes are matrices, those before them are broadcast.
Array matmul(const Array& a, const Array& b);
Array addmm(const Array& added, const Array& a, const Array& b, Scalar of_added = 1,
            Scalar of_product = 1);
Array baddbmm(const Array& added, const Array& a, const Array& b);
void mm_out(const Array& out, const Array& a, const Array& b);
void addmm_out(const Array& out, const Array& added, const Array& a, const Array& b);
Array tensordot(const Array& a, const Array& b, const IntArrayRef& axes_of_a,
                const IntArrayRef& axes_of_b);

// Decompositions, in the type of their argument; all but svd and linalg_svd take
// stacks of matrices.
Array linalg_cholesky(const Array& matrix);
/// Lower factors, and for each matrix 0, or another number where it is not positive
/// definite.
std::tuple<Array, Array> linalg_cholesky_ex(const Array& matrix);
/// A^-1 B, for A = L L' and B [n, m].
Array cholesky_solve(const Array& right, const Array& lower);
Array cholesky_inverse(const Array& lower);
Array linalg_solve_triangular(const Array& triangle, const Array& right, bool upper,
                              bool left = true, bool unitriangular = false);
Array linalg_solve(const Array& matrix, const Array& right);
/// Eigenvalues in increasing order, and eigenvectors as columns.
std::tuple<Array, Array> linalg_eigh(const Array& matrix, const char* triangle = "L");
Array linalg_eigvalsh(const Array& matrix);
/// The reduced decomposition.
std::tuple<Array, Array> linalg_qr(const Array& matrix);
/// U, S and V, with the matrix U S V'.
std::tuple<Array, Array, Array> svd(const Array& matrix);
/// U, S and V', with the matrix U S V'.
std::tuple<Array, Array, Array> linalg_svd(const Array& matrix,
                                           bool full_matrices = false);
std::tuple<Array, Array, Array> linalg_lu(const Array& matrix);
Array linalg_inv(const Array& matrix);
inline Array inverse(const Array& matrix) { return linalg_inv(matrix); }
Array linalg_pinv(const Array& matrix, double tolerance, bool hermitian);
Array pinverse(const Array& matrix);
/// Signs and logarithms of determinants.
std::tuple<Array, Array> linalg_slogdet(const Array& matrix);
inline Array logdet(const Array& matrix) { return std::get<1>(linalg_slogdet(matrix)); }

/// Calls work(begin, end) for pieces of at least `grain` turns, on the team of the
/// process.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& work);

}  // namespace nd
}  // namespace kinflow
