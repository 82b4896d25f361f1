// LAPACK's decomposition of a relationship, and products with its eigenvectors.
#include "kinflow/genetics/relationship_eigen.h"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

// Eigenvalues below this share of the largest one, negative, are no rounding.
constexpr double kNotSemidefinite = 1e-3;

/// A number that is not larger than the largest eigenvalue, and close to it.
double largest_eigenvalue_from_below(const std::vector<double>& matrix,
                                     std::int64_t rows) {
  constexpr int kSteps = 10;
  const auto n = static_cast<int>(rows);
  std::vector<double> vector(static_cast<std::size_t>(rows)), next(vector.size());
  for (std::size_t i = 0; i < vector.size(); ++i) {
    vector[i] = std::sin(1.0 + static_cast<double>(i));
  }
  double quotient = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double length = cblas_dnrm2(n, vector.data(), 1);
    if (!(length > 0)) return quotient;
    cblas_dscal(n, 1 / length, vector.data(), 1);
    cblas_dsymv(CblasColMajor, CblasLower, n, 1, matrix.data(), n, vector.data(), 1, 0,
                next.data(), 1);
    quotient = std::max(quotient, cblas_ddot(n, vector.data(), 1, next.data(), 1));
    std::swap(vector, next);
  }
  return quotient;
}

/// Whether there is a Cholesky factor with `shift` added to the diagonal.
bool has_factor(std::vector<double> matrix, std::int64_t rows, double shift) {
  const auto n = static_cast<std::size_t>(rows);
  const auto order = static_cast<lapack_int>(rows);
  for (std::size_t i = 0; i < n; ++i) matrix[i * n + i] += shift;
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', order, matrix.data(), order) == 0;
}

/// Eigenvalues, ascending; with 'V' the matrix becomes the eigenvectors.
std::vector<double> eigenvalues(std::vector<double>& matrix, std::int64_t rows,
                                char with_vectors) {
  std::vector<double> values(static_cast<std::size_t>(rows));
  const auto order = static_cast<lapack_int>(rows);
  const auto info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, with_vectors, 'L', order,
                                   matrix.data(), order, values.data());
  if (info == 0) return values;
  throw NumericalError(
      fmt::format("[eigenvalues] none of {} rows (dsyevd: {})", rows, info));
}

void check_eigenvalues(const std::vector<double>& values, const std::string& source) {
  if (values.back() > 0 && values.front() >= -kNotSemidefinite * values.back()) return;
  throw InputError(
      fmt::format("{}: expected a positive semidefinite relationship, found "
                  "eigenvalues from {:.6g} to {:.6g}",
                  source, values.front(), values.back()));
}

}  // namespace

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

RelationshipEigen eigen_of_relationship(std::vector<double> matrix, std::int64_t rows) {
  constexpr double kZero = 1e-10;
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
  check_eigenvalues(result.values, "relationship");
  for (auto& value : result.values) {
    if (value < kZero * largest) value = 0;
  }
  return result;
}

void require_semidefinite(std::vector<double> matrix, std::int64_t rows,
                          const std::string& source) {
  center_relationship(matrix, rows);
  const double largest = largest_eigenvalue_from_below(matrix, rows);
  if (largest > 0 && has_factor(matrix, rows, kNotSemidefinite * largest)) return;
  check_eigenvalues(eigenvalues(matrix, rows, 'N'), source);
}

std::optional<double> clip_negative_eigenvalues(std::vector<double>& matrix,
                                                std::int64_t rows) {
  constexpr double kRounding = 5e-9;
  const auto n = static_cast<std::size_t>(rows);
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) trace += matrix[i * n + i];
  if (has_factor(matrix, rows, kRounding * trace)) return std::nullopt;
  auto vectors = matrix;
  const auto values = eigenvalues(vectors, rows, 'V');
  const double smallest = values.front();
  if (smallest >= -kRounding * static_cast<double>(rows) * values.back()) {
    return std::nullopt;
  }
  for (std::size_t j = 0; j < n; ++j) {
    cblas_dscal(static_cast<int>(rows), std::sqrt(std::max(values[j], 0.0)),
                &vectors[j * n], 1);
  }
  const auto order = static_cast<int>(rows);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, order, order, 1, vectors.data(),
              order, 0, matrix.data(), order);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < j; ++i) matrix[j * n + i] = matrix[i * n + j];
  }
  return smallest;
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
