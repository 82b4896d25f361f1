// LAPACK's decomposition of a relationship, and products with its eigenvectors.
#include "kinflow/genetics/relationship_eigen.h"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <cmath>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {

void center_relationship(std::vector<double>& matrix, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  std::vector<double> means(n, 0);
  double mean = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) means[j] += matrix[j * n + i];
    means[j] /= static_cast<double>(n);
    mean += means[j] / static_cast<double>(n);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      matrix[j * n + i] += mean - (means[i] + means[j]);
    }
  }
}

namespace {

/// With all eigenvalues as LAPACK gives them, but checked.
RelationshipEigen decompose(std::vector<double> matrix, std::int64_t rows) {
  constexpr double kNotSemidefinite = 1e-3;
  const auto n = static_cast<std::size_t>(rows);
  const auto order = static_cast<lapack_int>(rows);
  RelationshipEigen result{rows, std::vector<double>(n), std::move(matrix)};
  const auto info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', order,
                                   result.vectors.data(), order, result.values.data());
  if (info != 0) {
    throw NumericalError(
        fmt::format("[eigen_of_relationship] no decomposition of {} rows (dsyevd: {})",
                    rows, info));
  }
  const double largest = result.values.back();
  if (!(largest > 0) || result.values.front() < -kNotSemidefinite * largest) {
    throw InputError(
        fmt::format("[eigen_of_relationship] expected a positive semidefinite "
                    "relationship, found eigenvalues from {:.6g} to {:.6g}",
                    result.values.front(), largest));
  }
  return result;
}

/// True where a small multiple of the identity makes the matrix positive definite.
bool is_semidefinite(std::vector<double> matrix, std::int64_t rows) {
  constexpr double kRounding = 1e-8;
  const auto n = static_cast<std::size_t>(rows);
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += matrix[i * n + i];
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += kRounding * trace;
  const auto order = static_cast<lapack_int>(rows);
  return LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', order, matrix.data(), order) == 0;
}

}  // namespace

RelationshipEigen eigen_of_relationship(std::vector<double> matrix, std::int64_t rows) {
  constexpr double kZero = 1e-10;
  auto result = decompose(std::move(matrix), rows);
  for (auto& value : result.values) {
    if (value < kZero * result.values.back()) value = 0;
  }
  return result;
}

double make_semidefinite(std::vector<double>& matrix, std::int64_t rows) {
  if (is_semidefinite(matrix, rows)) return 0;
  const auto eigen = decompose(matrix, rows);
  const auto n = static_cast<std::size_t>(rows);
  std::size_t negative = 0;
  while (eigen.values[negative] < 0) ++negative;
  if (negative == 0) return 0;
  auto scaled = eigen.vectors;
  for (std::size_t j = 0; j < negative; ++j) {
    cblas_dscal(static_cast<int>(rows), -eigen.values[j], &scaled[j * n], 1);
  }
  const auto order = static_cast<int>(rows);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, order, order,
              static_cast<int>(negative), 1, scaled.data(), order, eigen.vectors.data(),
              order, 1, matrix.data(), order);
  return eigen.values.front();
}

void rotate(const RelationshipEigen& eigen, const double* matrix, std::int64_t columns,
            double* rotated) {
  const auto n = static_cast<int>(eigen.rows);
  cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, n, static_cast<int>(columns), n,
              1, eigen.vectors.data(), n, matrix, n, 0, rotated, n);
}

std::vector<double> rotate(const RelationshipEigen& eigen, const double* matrix,
                           std::int64_t columns) {
  std::vector<double> rotated(static_cast<std::size_t>(eigen.rows * columns));
  rotate(eigen, matrix, columns, rotated.data());
  return rotated;
}

}  // namespace kinflow
