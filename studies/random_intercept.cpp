// EM, and densities by the sizes and sums of groups.
#include "studies/random_intercept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr int kMostSteps = 10'000;
// Of the parameters in a step, in deviations of the columns.
constexpr double kLeastChange = 1e-10;

// Rows of groups that have the same number of rows share matrices.
struct Groups {
  Groups(const Array& rows, const std::vector<std::int64_t>& group_of_row)
      : of_row(nd::tensor(group_of_row, nd::kLong)) {
    const auto count =
        group_of_row.empty()
            ? 0
            : *std::max_element(group_of_row.begin(), group_of_row.end()) + 1;
    std::vector<std::int64_t> rows_of_group(static_cast<std::size_t>(count), 0);
    for (const auto group : group_of_row) {
      ++rows_of_group[static_cast<std::size_t>(group)];
    }
    std::map<std::int64_t, std::int64_t> place;
    for (const auto size : rows_of_group) place.emplace(size, 0);
    std::vector<double> all_sizes;
    for (auto& [size, at] : place) {
      at = static_cast<std::int64_t>(all_sizes.size());
      all_sizes.push_back(static_cast<double>(size));
    }
    std::vector<std::int64_t> places;
    for (const auto size : rows_of_group) places.push_back(place.at(size));
    place_of_size = nd::tensor(places, nd::kLong);
    distinct = nd::tensor(all_sizes, nd::kDouble);
    sizes = distinct.index_select(0, place_of_size);
    groups_of_size =
        nd::zeros_like(distinct).index_add(0, place_of_size, nd::ones_like(sizes));
    sums = nd::zeros({count, rows.size(1)}, nd::kDouble).index_add(0, of_row, rows);
  }

  // One matrix for each group of one for each distinct size.
  Array for_groups(const Array& of_sizes) const {
    return of_sizes.index_select(0, place_of_size);
  }

  Array of_row;          // [n]
  Array sizes;           // [g] rows of each group
  Array sums;            // [g, p]
  Array distinct;        // [s] different sizes
  Array place_of_size;   // [g] among them
  Array groups_of_size;  // [s]
};

Array of_matrix(const Array& numbers) { return numbers.view({-1, 1, 1}); }

Array symmetric(const Array& matrix) { return (matrix + matrix.t()) / 2; }

// What the rows of each group say of its intercept. Nothing is divided by `between`,
// which may be singular.
struct Intercepts {
  Intercepts(const RandomIntercept& model, const Groups& groups) {
    const auto size = of_matrix(groups.distinct);
    const auto weight =
        model.between.matmul(nd::inverse(size * model.between + model.within));
    const auto residual_sums = groups.sums - groups.sizes.unsqueeze(1) * model.mean;
    means = groups.for_groups(weight).bmm(residual_sums.unsqueeze(2)).squeeze(2);
    covariances = model.between - size * weight.matmul(model.between);
  }

  Array means;        // [g, p]
  Array covariances;  // [s, p, p] of what is left to know, by the distinct sizes
};

// Of rows of deviations from their means under covariances of their own,
// [m, p] and [m, p, p].
Array normal_log_density(const Array& deviations, const Array& covariances) {
  const auto factor = nd::linalg_cholesky(covariances);
  const auto whitened =
      nd::linalg_solve_triangular(factor, deviations.unsqueeze(2), /*upper=*/false)
          .squeeze(2);
  const auto columns = static_cast<double>(deviations.size(1));
  return -0.5 * whitened.square().sum(1) - factor.diagonal(0, 1, 2).log().sum(1) -
         0.5 * columns * std::log(2 * std::numbers::pi);
}

double largest_change(const RandomIntercept& before, const RandomIntercept& after,
                      const Array& deviation) {
  const auto of_pairs = deviation.unsqueeze(1) * deviation;
  const auto change = [](const Array& a, const Array& b, const Array& unit) {
    return ((a - b) / unit).abs().max().item<double>();
  };
  return std::max({change(before.mean, after.mean, deviation),
                   change(before.between, after.between, of_pairs),
                   change(before.within, after.within, of_pairs)});
}

}  // namespace

RandomIntercept most_likely_random_intercept(
    const Array& rows, const std::vector<std::int64_t>& group_of_row) {
  const Groups groups(rows, group_of_row);
  const auto row_count = static_cast<double>(rows.size(0));
  const auto group_count = static_cast<double>(groups.sizes.size(0));
  const auto centred = rows - rows.mean(0);
  const auto half = centred.t().mm(centred) / (2 * row_count);
  const auto deviation = (2 * half.diagonal()).sqrt();
  RandomIntercept model{.mean = rows.mean(0), .between = half, .within = half};
  // Expanded by a linear map of the intercepts (Liu, Rubin and Wu 1998), without which
  // small intercepts take thousands of steps.
  for (int step = 0; step < kMostSteps; ++step) {
    const Intercepts known(model, groups);
    const auto& means = known.means;
    const auto left = of_matrix(groups.groups_of_size) * known.covariances;
    const auto residual_sums = groups.sums - groups.sizes.unsqueeze(1) * model.mean;
    const auto products = residual_sums.t().mm(means);
    const auto squares = means.t().mm(groups.sizes.unsqueeze(1) * means) +
                         (of_matrix(groups.distinct) * left).sum(0);
    const auto map = products.mm(nd::linalg_pinv(squares, 1e-15, /*hermitian=*/true));
    const auto residuals = rows - model.mean;
    RandomIntercept next;
    next.between =
        symmetric(map.mm(means.t().mm(means) + left.sum(0)).mm(map.t()) / group_count);
    next.within =
        symmetric((residuals.t().mm(residuals) - map.mm(products.t())) / row_count);
    next.mean = (rows - means.mm(map.t()).index_select(0, groups.of_row)).mean(0);
    const double change = largest_change(model, next, deviation);
    model = next;
    if (!std::isfinite(change)) break;
    if (change < kLeastChange) return model;
  }
  throw NumericalError(fmt::format(
      "[most_likely_random_intercept] expected the EM algorithm to converge in {} "
      "steps, it did not: what groups leave of the rows may be singular",
      kMostSteps));
}

Array row_log_density(const RandomIntercept& model, const Array& rows) {
  const auto covariance = model.between + model.within;
  return normal_log_density(
      rows - model.mean, covariance.expand({rows.size(0), rows.size(1), rows.size(1)}));
}

double joint_log_density(const RandomIntercept& model, const Array& rows,
                         const std::vector<std::int64_t>& group_of_row) {
  // A group's mean and the rows' deviations from it are independent; the deviations of
  // n rows are worth n - 1 rows of covariance `within`.
  const Groups groups(rows, group_of_row);
  const auto sizes = groups.sizes.unsqueeze(1);
  const auto means = groups.sums / sizes;
  const auto scaled = (means - model.mean) * sizes.sqrt();
  const auto of_means = normal_log_density(
      scaled,
      groups.for_groups(model.within + of_matrix(groups.distinct) * model.between));
  const auto rest = rows - means.index_select(0, groups.of_row);
  const auto of_rest = normal_log_density(
      rest, model.within.expand({rows.size(0), rows.size(1), rows.size(1)}));
  // As many rows at the mean as there are groups are too many.
  const auto at_mean = normal_log_density(nd::zeros({1, rows.size(1)}, nd::kDouble),
                                          model.within.unsqueeze(0))
                           .item<double>();
  return of_means.sum().item<double>() + of_rest.sum().item<double>() -
         static_cast<double>(groups.sizes.size(0)) * at_mean;
}

Array row_log_density_given(const RandomIntercept& model, const Array& observed,
                            const std::vector<std::int64_t>& group_of_observed,
                            const Array& rows,
                            const std::vector<std::int64_t>& group_of_row) {
  const Groups groups(observed, group_of_observed);
  const Intercepts known(model, groups);
  const auto of_row = nd::tensor(group_of_row, nd::kLong);
  return normal_log_density(
      rows - model.mean - known.means.index_select(0, of_row),
      groups.for_groups(known.covariances).index_select(0, of_row) + model.within);
}

}  // namespace kinflow
