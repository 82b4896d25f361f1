// Preconditioned conjugate gradients for many columns.
#include "kinflow/dependence/conjugate_gradients.h"

#include <fmt/format.h>

#include <limits>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// Residuals up to so many roundings of C x are not worth further iterations.
constexpr double kRoundings = 64;
/// The residual of the recursion drifts away from b - C x; columns where it did are
/// taken up again, at most so often.
constexpr int kRestarts = 4;

Array norms(const Array& matrix) { return matrix.norm(2, 0); }

/// The columns that still iterate.
struct Columns {
  Array place;  // [a] int64, among all columns
  Array lambda, right_norm, values, residual, direction, product;

  void keep(const Array& which) {
    for (Array* vector : {&place, &lambda, &right_norm, &product}) {
      if (vector->defined()) *vector = vector->index_select(0, which);
    }
    for (Array* matrix : {&values, &residual, &direction}) {
      if (matrix->defined()) *matrix = matrix->index_select(1, which);
    }
  }
};

/// The largest residual that counts as none, for each column.
Array allowed_residual(const ShiftedSystem& system, const Array& lambda,
                       const Array& right_norm, const Array& values, double tolerance) {
  const Array size = lambda + (1 - lambda) * system.largest_eigenvalue;
  return nd::max(
      tolerance * right_norm,
      kRoundings * std::numeric_limits<double>::epsilon() * size * norms(values));
}

[[noreturn]] void fail(const Array& lambda, const Array& relative,
                       std::int64_t iterations, double tolerance) {
  const auto worst = relative.argmax().item<std::int64_t>();
  throw NumericalError(fmt::format(
      "[iterative-relationship] no solution for lambda = {:.4g}: relative residual "
      "{:.2g} after {} iterations, above the tolerance of {:.2g}; allow more "
      "iterations "
      "or a larger tolerance, or keep lambda further from 0",
      lambda[worst].item<double>(), relative[worst].item<double>(), iterations,
      tolerance));
}

}  // namespace

Solution conjugate_gradients(const ShiftedSystem& system, const Array& right,
                             const Array& lambda, const Array& start,
                             const ConjugateGradientOptions& options) {
  Solution solution{start.defined() ? start.clone() : nd::zeros_like(right), 0, 0};
  if (right.numel() == 0) return solution;
  const Array right_norm = norms(right);
  Array residual =
      start.defined() ? right - system.times(start, lambda) : right.clone();
  const auto relative = [&] {
    return nd::where(right_norm > 0, norms(residual) / right_norm,
                     nd::zeros_like(right_norm));
  };
  for (int round = 0;; ++round) {
    const Array wanting =
        nd::nonzero(norms(residual) > allowed_residual(system, lambda, right_norm,
                                                       solution.values,
                                                       options.tolerance))
            .squeeze(1);
    if (wanting.size(0) == 0) break;
    if (round > kRestarts || solution.iterations >= options.max_iterations) {
      fail(lambda, relative(), solution.iterations, options.tolerance);
    }
    Columns columns{nd::arange(right.size(1), wanting.options()),
                    lambda,
                    right_norm,
                    solution.values,
                    residual,
                    Array(),
                    Array()};
    columns.keep(wanting);
    columns.direction = system.precondition(columns.residual, columns.lambda);
    columns.product = (columns.residual * columns.direction).sum(0);
    while (true) {
      const Array image = system.times(columns.direction, columns.lambda);
      const Array curvature = (columns.direction * image).sum(0);
      if (!(curvature > 0).all().item<bool>()) {
        const auto worst = curvature.argmin().item<std::int64_t>();
        throw NumericalError(fmt::format(
            "[iterative-relationship] the covariance for lambda = {:.4g} is not "
            "positive definite: a direction has the curvature {:.3g}",
            columns.lambda[worst].item<double>(), curvature[worst].item<double>()));
      }
      const Array step = columns.product / curvature;
      columns.values = columns.values + step * columns.direction;
      columns.residual = columns.residual - step * image;
      ++solution.iterations;
      const Array is_done = norms(columns.residual) <=
                            allowed_residual(system, columns.lambda, columns.right_norm,
                                             columns.values, 0.5 * options.tolerance);
      const bool is_last =
          solution.iterations >= options.max_iterations || is_done.all().item<bool>();
      if (is_last || is_done.any().item<bool>()) {
        solution.values.index_copy_(1, columns.place, columns.values);
        if (is_last) break;
        columns.keep(nd::nonzero(is_done.logical_not()).squeeze(1));
      }
      const Array next = system.precondition(columns.residual, columns.lambda);
      const Array product = (columns.residual * next).sum(0);
      columns.direction = next + product / columns.product * columns.direction;
      columns.product = product;
    }
    residual = right - system.times(solution.values, lambda);
  }
  solution.relative_residual = relative().max().item<double>();
  return solution;
}

}  // namespace kinflow
