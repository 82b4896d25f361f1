// Block Krylov spaces of relationship matrices.
#include "kinflow/dependence/dominant_subspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/spectral_decomposition.h"

namespace kinflow {
namespace {

/// Columns of a block: enough for a product with a dense G to be more than a walk
/// through memory, few enough for a Krylov space of many steps.
constexpr std::int64_t kBlock = 8;
/// Directions in which a product leaves the space by less than this share of the
/// largest eigenvalue are inside it.
constexpr double kInside = 1e-11;
/// A Ritz vector with a residual up to this share of its value is an eigenvector.
constexpr double kConverged = 1e-7;
/// Where the basis costs more than the products, the search ends after so many vectors
/// unless the residual of the largest Ritz value is below this share of it.
constexpr std::int64_t kTrial = 64;
constexpr double kPromising = 1e-3;
/// Share of the own variance at which the cost of solutions is weighed.
constexpr double kTypicalLambda = 0.1;

/// Vectors of standard normal numbers, [n, c] on the device.
Array random_block(std::int64_t n, std::int64_t c, std::uint64_t seed,
                   nd::Device device) {
  Random random(seed, stream(Purpose::probes, 1));
  return normal_numbers({n, c}, random).to(device);
}

/// Eigenvectors of V'GV in the coordinates of a basis V of a Krylov space.
struct RitzPairs {
  Array basis;        // V [n, m]
  Array coordinates;  // [m, m], a column for each value
  Array values;       // [m], increasing
  Array residuals;    // [m]
};

RitzPairs krylov_space(const RelationshipOperator& relationship,
                       const DominantSubspaceOptions& options) {
  const std::int64_t n = relationship.rows(), limit = options.basis;
  const nd::TensorOptions numbers =
      nd::TensorOptions(relationship.device()).dtype(nd::kDouble);
  Array all = nd::empty({n, limit}, numbers);
  Array projected = nd::zeros({limit, limit}, numbers);
  Array block = std::get<0>(nd::linalg_qr(
      random_block(n, std::min(kBlock, limit), options.seed, relationship.device())));
  std::int64_t size = 0;
  double scale = 0;
  while (true) {
    const std::int64_t last = size;
    all.narrow(1, last, block.size(1)).copy_(block);
    size += block.size(1);
    const Array basis = all.narrow(1, 0, size);
    Array product = relationship.times(block);
    const Array inside = nd::mm(basis.t(), product);
    projected.narrow(0, 0, size).narrow(1, last, size - last).copy_(inside);
    projected.narrow(0, last, size - last).narrow(1, 0, size).copy_(inside.t());
    scale = std::max(scale, inside.norm().item<double>());
    product = product - nd::mm(basis, inside);
    product = product - nd::mm(basis, nd::mm(basis.t(), product));
    const auto [directions, triangle] = nd::linalg_qr(product);
    const auto [left, singular, right] = nd::svd(triangle);
    const auto fresh = (singular > kInside * scale).sum().item<std::int64_t>();
    const bool is_end = fresh == 0 || size + fresh > limit;
    const bool is_dear =
        static_cast<double>(2 * size * n) > relationship.product_cost();
    if (is_end || (is_dear && size >= kTrial)) {
      const Array small = projected.narrow(0, 0, size).narrow(1, 0, size);
      const auto [values, coordinates] = nd::linalg_eigh(0.5 * (small + small.t()));
      // Only products with the last block leave the space.
      const Array residuals =
          nd::mm(triangle, coordinates.narrow(0, last, size - last)).norm(2, 0);
      const bool is_promising = residuals[size - 1].item<double>() <=
                                kPromising * values[size - 1].item<double>();
      if (is_end || !is_promising) return {basis, coordinates, values, residuals};
    }
    block = nd::mm(directions, left.narrow(1, 0, fresh));
    block = block - nd::mm(basis, nd::mm(basis.t(), block));
    block = std::get<0>(nd::linalg_qr(block));
  }
}

/// How many of the largest eigenvalues to keep: a solution takes products in number
/// like the root of the condition number, and k vectors make each of them dearer.
std::int64_t useful_count(const std::vector<double>& decreasing, std::int64_t converged,
                          double product_cost, std::int64_t rows) {
  const auto cost = [&](std::int64_t kept) {
    const double next = decreasing[static_cast<std::size_t>(kept)];
    return (product_cost + 2.0 * static_cast<double>(kept * rows)) *
           std::sqrt(kTypicalLambda + (1 - kTypicalLambda) * std::max(next, 0.0));
  };
  std::int64_t best = 0;
  for (std::int64_t kept = 1; kept <= converged; ++kept) {
    if (kept < static_cast<std::int64_t>(decreasing.size()) &&
        cost(kept) < cost(best)) {
      best = kept;
    }
  }
  return best;
}

}  // namespace

void check_not_negative(double smallest, double largest, std::int64_t rows) {
  if (smallest >=
      -kEigenvalueRounding * static_cast<double>(rows) * std::max(largest, 0.0)) {
    return;
  }
  throw InputError(fmt::format(
      "[IterativeRelationship] expected a positive semidefinite matrix, received one "
      "that is not positive semidefinite: an eigenvalue of {:.6g} or less",
      smallest));
}

Array DominantSubspace::variances(const Array& lambda) const {
  return lambda + (1 - lambda) * values.unsqueeze(1);
}

Array DominantSubspace::rest_variance(const Array& lambda) const {
  return lambda + (1 - lambda) * rest_mean;
}

DominantSubspace::Function DominantSubspace::inverse(const Array& lambda) const {
  const Array variance = variances(lambda);
  if (is_complete()) return {variance.reciprocal(), nd::zeros_like(lambda)};
  const Array rest = rest_variance(lambda);
  // 1/v - 1/rest, without the difference.
  return {(1 - lambda) * (rest_mean - values).unsqueeze(1) / (variance * rest),
          rest.reciprocal()};
}

Array DominantSubspace::remove_from(const Array& matrix) const {
  if (count() == 0) return matrix;
  return matrix - nd::mm(vectors, nd::mm(vectors.t(), matrix));
}

Array apply(const DominantSubspace& subspace,
            const DominantSubspace::Function& function, const Array& matrix) {
  if (subspace.count() == 0) return function.outside * matrix;
  const Array along = nd::mm(subspace.vectors.t(), matrix);
  return function.outside * matrix + nd::mm(subspace.vectors, function.inside * along);
}

DominantSubspace find_dominant_subspace(const RelationshipOperator& relationship,
                                        const DominantSubspaceOptions& options) {
  const std::int64_t n = relationship.rows();
  if (n <= options.basis) {
    const Array all =
        nd::arange(n, nd::TensorOptions(relationship.device()).dtype(nd::kLong));
    const auto [values, vectors] = nd::linalg_eigh(relationship.block(all, all));
    check_not_negative(values[0].item<double>(), values[n - 1].item<double>(), n);
    return {vectors.contiguous(), values.clamp_min(0), nd::zeros_like(values), 0};
  }
  const RitzPairs ritz = krylov_space(relationship, options);
  const std::int64_t m = ritz.values.size(0);
  const Array values = ritz.values.flip(0).cpu().contiguous();
  const Array residuals = ritz.residuals.flip(0).cpu().contiguous();
  const double* value = values.data_ptr<double>();
  check_not_negative(value[m - 1], value[0], n);
  std::int64_t converged = 0;
  while (converged < m &&
         residuals.data_ptr<double>()[converged] <= kConverged * value[converged]) {
    ++converged;
  }
  const std::int64_t kept =
      useful_count({value, value + m}, converged, relationship.product_cost(), n);
  const double rest_sum =
      relationship.trace() - values.narrow(0, 0, kept).sum().item<double>();
  return {nd::mm(ritz.basis, ritz.coordinates.narrow(1, m - kept, kept)),
          ritz.values.narrow(0, m - kept, kept).clone(),
          ritz.residuals.narrow(0, m - kept, kept).clone(),
          std::max(rest_sum / static_cast<double>(n - kept), 0.0)};
}

}  // namespace kinflow
