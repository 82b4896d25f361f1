// Spectral decompositions of relationship matrices and of their factors.
#include "kinflow/dependence/spectral_decomposition.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/clock.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"

namespace kinflow {
namespace {

/// Rows up to which dsyevd's workspace, 1 + 6 n + 2 n^2 numbers, has a 32-bit size.
constexpr std::int64_t kLapackRows = 32'766;
/// Rows of the decomposition whose time is taken.
constexpr std::int64_t kTimedRows = 500;
constexpr std::int64_t kTile = 64;

const char* const kLighterWays =
    "what needs less: --solver iterative (conjugate gradients; the matrix alone), "
    "--sparsify T (families), --relationship-pcs FILE (low rank)";

void require_lapack_rows(std::int64_t rows) {
  if (rows <= kLapackRows) return;
  throw InputError(
      fmt::format("[Relationship] expected at most 32,766 rows in a dense "
                  "matrix, received {}; {}",
                  rows, kLighterWays));
}

/// LAPACK's divide and conquer for the columns of a matrix, of which the lower triangle
/// is looked at. The eigenvectors replace it.
void decompose_columns(lapack_int rows, double* matrix, double* eigenvalues) {
  const lapack_int info =
      LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', rows, matrix, rows, eigenvalues);
  if (info == LAPACK_WORK_MEMORY_ERROR) {
    throw NumericalError(fmt::format(
        "[Relationship] not enough memory to decompose a matrix of {} rows", rows));
  }
  if (info != 0) {
    throw NumericalError(fmt::format(
        "[Relationship] the spectral decomposition did not converge (dsyevd: {})",
        info));
  }
}

/// Eigenvalues [n] and eigenvectors, the columns of [n, n].
std::pair<Array, Array> decompose_by_lapack(const Array& matrix) {
  const std::int64_t n = matrix.size(0);
  require_decomposable(n);
  Array vectors = matrix.clone(nd::MemoryFormat::Contiguous);
  Array values = nd::empty({n}, vectors.options());
  decompose_columns(static_cast<lapack_int>(n), vectors.data_ptr<double>(),
                    values.data_ptr<double>());
  // LAPACK's columns are the rows of a row-major array.
  return {values, vectors.t()};
}

/// The same by the GPU's own solver.
std::pair<Array, Array> decompose_on_device(const Array& matrix) {
  try {
    const auto [values, vectors] = nd::linalg_eigh(matrix, "U");
    return {values, vectors};
  } catch (const std::exception& error) {
    throw NumericalError(fmt::format(
        "[Relationship] the spectral decomposition on the GPU failed: {}; what needs "
        "no GPU: --device cpu",
        error.what()));
  }
}

/// The largest element of each eigenvector becomes positive, so that draws do not
/// depend on the solver, but for repeated eigenvalues and elements of equal size.
void choose_signs(Array& vectors) {
  const Array is_negative = vectors.amax(0).lt(-vectors.amin(0));
  vectors.mul_(1 - 2 * is_negative.to(nd::kDouble));
}

}  // namespace

void check_relationship(const Array& relationship) {
  if (relationship.dim() != 2 || relationship.size(0) != relationship.size(1) ||
      relationship.size(0) == 0) {
    throw InputError(
        fmt::format("[Relationship] expected a square matrix, received [{}]",
                    fmt::join(relationship.sizes(), ", ")));
  }
  const std::int64_t n = relationship.size(0);
  require_lapack_rows(n);
  const Array matrix = relationship.to(nd::kCPU, nd::kDouble).contiguous();
  const double* values = matrix.data_ptr<double>();
  double largest = 0, worst = 0;
  std::int64_t worst_row = 0, worst_column = 0;
  // In tiles, so that both G_ij and G_ji stay in the cache.
  for (std::int64_t row = 0; row < n; row += kTile) {
    for (std::int64_t column = 0; column <= row; column += kTile) {
      for (std::int64_t i = row; i < std::min(row + kTile, n); ++i) {
        for (std::int64_t j = column; j < std::min(column + kTile, i + 1); ++j) {
          const double below = values[i * n + j], above = values[j * n + i];
          if (!std::isfinite(below) || !std::isfinite(above)) {
            const bool is_below = !std::isfinite(below);
            throw InputError(fmt::format(
                "[Relationship] expected finite numbers, received {} in row {}, "
                "column {}",
                is_below ? below : above, (is_below ? i : j) + 1,
                (is_below ? j : i) + 1));
          }
          largest = std::max({largest, std::abs(below), std::abs(above)});
          const double difference = std::abs(below - above);
          if (difference > worst) {
            worst = difference;
            worst_row = j;
            worst_column = i;
          }
        }
      }
    }
  }
  if (worst > kAsymmetry * largest) {
    throw InputError(fmt::format(
        "[Relationship] expected a symmetric matrix, received {} in row {}, column {} "
        "and {} in row {}, column {}",
        values[worst_row * n + worst_column], worst_row + 1, worst_column + 1,
        values[worst_column * n + worst_row], worst_column + 1, worst_row + 1));
  }
}

double decomposition_bytes(std::int64_t rows) {
  return 3.0 * sizeof(double) * static_cast<double>(rows) * static_cast<double>(rows);
}

double expected_decomposition_seconds(std::int64_t rows) {
  Random random(1);
  std::vector<double> symmetric(kTimedRows * kTimedRows);
  for (double& value : symmetric) value = random.normal();
  std::vector<double> eigenvalues(kTimedRows);
  // The best of several: the first one prepares, and another process may disturb one.
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    std::vector<double> matrix = symmetric;
    const auto start = Clock::now();
    decompose_columns(kTimedRows, matrix.data(), eigenvalues.data());
    seconds = std::min(seconds, seconds_since(start));
  }
  return seconds *
         std::pow(static_cast<double>(rows) / static_cast<double>(kTimedRows), 3);
}

void require_decomposable(std::int64_t rows, const MemorySources& sources) {
  require_lapack_rows(rows);
  require_memory(decomposition_bytes(rows), "[Relationship]",
                 fmt::format("the spectral decomposition of a matrix of {} rows", rows),
                 kLighterWays, sources);
}

SpectralDecomposition decompose_relationship(const Array& relationship) {
  const Array matrix = relationship.detach().to(nd::kDouble);
  check_relationship(matrix);
  auto [values, vectors] =
      matrix.is_cpu() ? decompose_by_lapack(matrix) : decompose_on_device(matrix);
  const double smallest = values[0].item<double>();
  const double largest = values[-1].item<double>();
  if (smallest < -kEigenvalueRounding * static_cast<double>(matrix.size(0)) * largest) {
    throw InputError(fmt::format(
        "[Relationship] expected a positive semidefinite matrix, received one that is "
        "not positive semidefinite: smallest eigenvalue {:.6g}",
        smallest));
  }
  choose_signs(vectors);
  return {vectors.contiguous(), values.clamp_min(0)};
}

SpectralDecomposition decompose_factor(const Array& factor) {
  if (factor.dim() != 2 || factor.size(0) == 0 || factor.size(1) == 0) {
    throw InputError(fmt::format(
        "[Relationship] expected a factor [n, k] with n, k >= 1, received [{}]",
        fmt::join(factor.sizes(), ", ")));
  }
  const Array rows = factor.detach().to(nd::kDouble);
  if (const Array finite = rows.isfinite(); !finite.all().item<bool>()) {
    const Array place = nd::nonzero(finite.logical_not())[0];
    const auto row = place[0].item<std::int64_t>();
    const auto column = place[1].item<std::int64_t>();
    throw InputError(fmt::format(
        "[Relationship] expected finite numbers in a factor, received {} in row {}, "
        "column {}",
        rows[row][column].item<double>(), row + 1, column + 1));
  }
  const auto [basis, triangle] = nd::linalg_qr(rows);
  const auto [left, singular, right] = nd::svd(triangle);
  // Singular values decrease; those of a deficient factor are rounding of 0.
  const double smallest = singular[0].item<double>() *
                          static_cast<double>(std::max(rows.size(0), rows.size(1))) *
                          std::numeric_limits<double>::epsilon();
  const auto rank =
      std::max<std::int64_t>(1, (singular > smallest).sum().item<std::int64_t>());
  return {nd::mm(basis, left.narrow(1, 0, rank).flip(1)),
          singular.narrow(0, 0, rank).square().flip(0)};
}

std::optional<Indefinite> find_indefinite(const Array& matrices) {
  // The trace is at most m times the largest eigenvalue: what it adds is rounding.
  const Array diagonal = matrices.diagonal(0, 1, 2);
  const Array rounding = kEigenvalueRounding * diagonal.sum(1, /*keepdim=*/true);
  Array raised = matrices.clone();
  raised.diagonal(0, 1, 2).add_(rounding);
  const auto [factor, info] = nd::linalg_cholesky_ex(raised);
  const Array doubtful = nd::nonzero(info).squeeze(1);
  if (doubtful.size(0) == 0) return std::nullopt;
  const Array values = nd::linalg_eigvalsh(matrices.index_select(0, doubtful)).cpu();
  const auto m = static_cast<double>(matrices.size(2));
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const double smallest = values[i][0].item<double>();
    const double largest = values[i][-1].item<double>();
    if (smallest < -kEigenvalueRounding * m * std::max(largest, 0.0)) {
      return Indefinite{doubtful[i].item<std::int64_t>(), smallest};
    }
  }
  return std::nullopt;
}

}  // namespace kinflow
