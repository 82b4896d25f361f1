// Spectral decompositions of relationship matrices and of their factors.
#include "kinflow/dependence/spectral_decomposition.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lapacke.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// Eigenvalues from -kRounding n times the largest up to 0 are taken for 0.
constexpr double kRounding = 1e-8;
/// Differences between G_ij and G_ji up to this share of the largest element are
/// taken for rounding.
constexpr double kAsymmetry = 1e-8;

[[noreturn]] void refuse_indefinite(double smallest) {
  throw InputError(fmt::format(
      "[Relationship] expected a positive semidefinite matrix, received one that is "
      "not positive semidefinite: smallest eigenvalue {:.6g}",
      smallest));
}

}  // namespace

void check_relationship(const at::Tensor& matrix) {
  if (matrix.dim() != 2 || matrix.size(0) != matrix.size(1) || matrix.size(0) == 0) {
    throw InputError(
        fmt::format("[Relationship] expected a square matrix, received [{}]",
                    fmt::join(matrix.sizes(), ", ")));
  }
  const std::int64_t n = matrix.size(0);
  if (1 + 6 * n + 2 * n * n > std::numeric_limits<lapack_int>::max()) {
    throw InputError(fmt::format(
        "[Relationship] expected at most 32,766 rows in a dense matrix, received {}",
        n));
  }
  const auto place = [n](const at::Tensor& flags_or_sizes) {
    const std::int64_t index =
        flags_or_sizes.to(at::kDouble).argmax().item<std::int64_t>();
    return std::pair(index / n, index % n);
  };
  const at::Tensor finite = matrix.isfinite();
  if (!finite.all().item<bool>()) {
    const auto [row, column] = place(finite.logical_not());
    throw InputError(fmt::format(
        "[Relationship] expected finite numbers, received {} in row {}, column {}",
        matrix[row][column].item<double>(), row + 1, column + 1));
  }
  const at::Tensor difference = (matrix - matrix.t()).abs();
  if (difference.max().item<double>() >
      kAsymmetry * matrix.abs().max().item<double>()) {
    const auto [row, column] = place(difference);
    throw InputError(fmt::format(
        "[Relationship] expected a symmetric matrix, received {} in row {}, column {} "
        "and {} in row {}, column {}",
        matrix[row][column].item<double>(), row + 1, column + 1,
        matrix[column][row].item<double>(), column + 1, row + 1));
  }
}

SpectralDecomposition decompose_relationship(const at::Tensor& relationship) {
  const at::Tensor matrix = relationship.detach().to(at::kCPU, at::kDouble);
  check_relationship(matrix);
  const std::int64_t n = matrix.size(0);
  at::Tensor vectors = matrix.clone(at::MemoryFormat::Contiguous);
  at::Tensor values = at::empty({n}, vectors.options());
  const auto size = static_cast<lapack_int>(n);
  const lapack_int info =
      LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', size, vectors.data_ptr<double>(), size,
                     values.data_ptr<double>());
  if (info == LAPACK_WORK_MEMORY_ERROR) {
    throw NumericalError(fmt::format(
        "[Relationship] not enough memory to decompose a matrix of {} rows", n));
  }
  if (info != 0) {
    throw NumericalError(fmt::format(
        "[Relationship] the spectral decomposition did not converge (dsyevd: {})",
        info));
  }
  const double smallest = values[0].item<double>();
  const double largest = values[n - 1].item<double>();
  if (smallest < -kRounding * static_cast<double>(n) * largest) {
    refuse_indefinite(smallest);
  }
  // LAPACK's columns are the rows of a row-major tensor.
  return {vectors.t().contiguous().to(relationship.device()),
          values.clamp_min(0).to(relationship.device())};
}

SpectralDecomposition decompose_factor(const at::Tensor& factor) {
  if (factor.dim() != 2 || factor.size(0) == 0 || factor.size(1) == 0) {
    throw InputError(fmt::format(
        "[Relationship] expected a factor [n, k] with n, k >= 1, received [{}]",
        fmt::join(factor.sizes(), ", ")));
  }
  const at::Tensor rows = factor.detach().to(at::kDouble);
  if (const at::Tensor finite = rows.isfinite(); !finite.all().item<bool>()) {
    const at::Tensor place = at::nonzero(finite.logical_not())[0];
    const auto row = place[0].item<std::int64_t>();
    const auto column = place[1].item<std::int64_t>();
    throw InputError(fmt::format(
        "[Relationship] expected finite numbers in a factor, received {} in row {}, "
        "column {}",
        rows[row][column].item<double>(), row + 1, column + 1));
  }
  const auto [basis, triangle] = at::linalg_qr(rows);
  const auto [left, singular, right] = at::svd(triangle);
  // Singular values decrease; those of a deficient factor are rounding of 0.
  const double smallest = singular[0].item<double>() *
                          static_cast<double>(std::max(rows.size(0), rows.size(1))) *
                          std::numeric_limits<double>::epsilon();
  const auto rank =
      std::max<std::int64_t>(1, (singular > smallest).sum().item<std::int64_t>());
  return {at::mm(basis, left.narrow(1, 0, rank).flip(1)),
          singular.narrow(0, 0, rank).square().flip(0)};
}

std::optional<Indefinite> find_indefinite(const at::Tensor& matrices) {
  // The trace is at most m times the largest eigenvalue: what it adds is rounding.
  const at::Tensor diagonal = matrices.diagonal(0, 1, 2);
  const at::Tensor rounding = kRounding * diagonal.sum(1, /*keepdim=*/true);
  at::Tensor raised = matrices.clone();
  raised.diagonal(0, 1, 2).add_(rounding);
  const auto [factor, info] = at::linalg_cholesky_ex(raised);
  const at::Tensor doubtful = at::nonzero(info).squeeze(1);
  if (doubtful.size(0) == 0) return std::nullopt;
  const at::Tensor values =
      at::linalg_eigvalsh(matrices.index_select(0, doubtful)).cpu();
  const auto m = static_cast<double>(matrices.size(2));
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const double smallest = values[i][0].item<double>();
    const double largest = values[i][-1].item<double>();
    if (smallest < -kRounding * m * std::max(largest, 0.0)) {
      return Indefinite{doubtful[i].item<std::int64_t>(), smallest};
    }
  }
  return std::nullopt;
}

void check_positive_semidefinite(const at::Tensor& relationship) {
  if (const auto wrong = find_indefinite(relationship.unsqueeze(0))) {
    refuse_indefinite(wrong->eigenvalue);
  }
}

}  // namespace kinflow
