// Moments of groups by the analysis of variance.
#include "kinflow/model/group_draws.h"

#include <algorithm>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/statistics/normal_quantile.h"

namespace kinflow {
namespace {

constexpr std::int64_t kDrawnGroups = 512;

// Rows x [n, p] with x' x = degrees I.
Array whitened(const Array& rows, std::int64_t degrees) {
  const auto root =
      nd::linalg_cholesky(nd::mm(rows.t(), rows) / static_cast<double>(degrees));
  return nd::linalg_solve_triangular(root, rows.t(), /*upper=*/false).t();
}

Array with_eigenvalues(const Array& vectors, const Array& values) {
  return nd::mm(vectors * values, vectors.t());
}

// The symmetric root, which changes little where the matrix does.
Array root_of_positive_part(const Array& covariance) {
  const auto [values, vectors] = nd::linalg_eigh(covariance);
  return with_eigenvalues(vectors, values.clamp_min(0).sqrt());
}

Array positive_part(const Array& covariance) {
  const auto [values, vectors] = nd::linalg_eigh(covariance);
  return with_eigenvalues(vectors, values.clamp_min(0));
}

}  // namespace

Array normal_scores_among(const Array& rows) {
  const auto n = rows.size(0);
  auto quantiles = nd::empty({n, 1}, nd::kDouble);
  auto* out = quantiles.data_ptr<double>();
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(n));
  }
  return nd::empty_like(rows).scatter_(
      0, rows.argsort(/*stable=*/false, /*dim=*/0, /*descending=*/false),
      quantiles.expand_as(rows).contiguous());
}

GroupNumbers draw_group_numbers(std::int64_t columns, Random& random) {
  const auto groups = std::max(kDrawnGroups, 4 * columns), m = kRowsOfDrawnGroup;
  auto of_groups = normal_numbers({groups, columns}, random);
  of_groups -= of_groups.mean(0, /*keepdim=*/true);
  auto of_rows = normal_numbers({groups, m, columns}, random);
  of_rows -= of_rows.mean(1, /*keepdim=*/true);
  return {.of_groups = whitened(of_groups, groups - 1),
          .of_rows = whitened(of_rows.flatten(0, 1), groups * (m - 1))
                         .reshape({groups, m, columns})};
}

Array latents_of_groups(const GroupNumbers& numbers, const LatentParts& parts) {
  const auto own = positive_part(parts.own);
  const auto of_means = root_of_positive_part(
      positive_part(parts.shared) + own / static_cast<double>(kRowsOfDrawnGroup));
  return (nd::mm(numbers.of_groups, of_means).unsqueeze(1) +
          nd::matmul(numbers.of_rows, root_of_positive_part(own)))
      .flatten(0, 1);
}

GroupMoments moments_of_groups(const Array& data, bool with_pairs) {
  const auto finite = data.nan_to_num();
  const auto rows = nd::cat({finite, normal_scores_among(finite)}, 1)
                        .view({-1, kRowsOfDrawnGroup, 2 * data.size(1)});
  const auto m = static_cast<double>(kRowsOfDrawnGroup);
  const auto groups = static_cast<double>(rows.size(0));
  const auto means = rows.mean(1);
  const auto inside = (rows - means.unsqueeze(1)).flatten(0, 1);
  const auto between = means - means.mean(0, /*keepdim=*/true);
  const auto variance_inside = inside.square().sum(0) / (groups * (m - 1));
  GroupMoments moments;
  moments.shared_variance =
      between.square().sum(0) / (groups - 1) - variance_inside / m;
  moments.variance = moments.shared_variance + variance_inside;
  if (with_pairs) {
    moments.shared = nd::mm(between.t(), between) / (groups - 1) -
                     nd::mm(inside.t(), inside) / (groups * m * (m - 1));
  }
  return moments;
}

}  // namespace kinflow
