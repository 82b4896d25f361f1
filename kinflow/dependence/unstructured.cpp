// The Cholesky factor of the precision as parameters.
#include "kinflow/dependence/unstructured.h"

#include <fmt/format.h>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

/// Places of the lower triangle, row by row, in a matrix [n, n]: [n (n + 1) / 2] int64.
Array triangle_places(std::int64_t n, nd::Device device) {
  const Array places = nd::tril_indices(n, n);
  return (places[0] * n + places[1]).to(device);
}

}  // namespace

/// Keeps the latents alone.
class Unstructured::Memory final : public LatentMemory {
 public:
  explicit Memory(const Unstructured& law) : LatentMemory(law.rows()), law_(law) {}

  void update(const Array& rows, const Array& latents) override {
    exchange_rows(rows, latents);
  }
  Array precision_rows(const Array& parameters, const Array& rows) const override {
    return law_.precision_times(parameters, latents_).index_select(1, rows);
  }
  Array parameter_gradient(const Array& parameters) const override {
    return law_.parameter_gradient(parameters, latents_);
  }

 private:
  const Unstructured& law_;
};

Unstructured::Unstructured(std::int64_t rows, UnstructuredOptions options)
    : rows_(rows) {
  if (rows < 1) {
    throw InputError(
        fmt::format("[Unstructured] expected at least 1 row, received {}", rows));
  }
  if (rows > options.largest_rows) {
    throw InputError(fmt::format(
        "[Unstructured] expected at most {} rows, received {}: these would have {} "
        "parameters; a structure with few (blocks, a relationship matrix, time) can be "
        "learned from so many rows",
        options.largest_rows, rows, rows * (rows + 1) / 2));
  }
}

Array Unstructured::factor(const Array& parameters) const {
  const Array checked = checked_parameters(parameters);
  Array result = nd::zeros({checked.size(0), rows_ * rows_}, checked.options());
  result.index_copy_(1, triangle_places(rows_, checked.device()), checked);
  result = result.view({-1, rows_, rows_});
  result.diagonal(0, 1, 2).exp_();
  return result;
}

Array Unstructured::to_parameters(const Array& factor, const Array& factor_gradient,
                                  std::int64_t columns) const {
  Array gradient = factor_gradient.contiguous();
  Array diagonal = gradient.diagonal(0, 1, 2);
  diagonal.mul_(factor.diagonal(0, 1, 2)).sub_(static_cast<double>(columns));
  return gradient.flatten(1).index_select(1, triangle_places(rows_, factor.device()));
}

Array Unstructured::log_det(const Array& parameters) const {
  const Array last = nd::arange(1, rows_ + 1, nd::kLong);
  const Array diagonal = (last * (last + 1)).floor_divide(2) - 1;
  return -2 * checked_parameters(parameters)
                  .index_select(1, diagonal.to(parameters.device()))
                  .sum(1);
}

Array Unstructured::precision_times(const Array& parameters,
                                    const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows_);
  const Array lower = factor(parameters);
  return nd::bmm(lower.transpose(1, 2), nd::bmm(lower, all));
}

Array Unstructured::quadratic(const Array& parameters, const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows_);
  return nd::bmm(factor(parameters), all).square().sum({1, 2});
}

Array Unstructured::parameter_gradient(const Array& parameters,
                                       const Array& latents) const {
  const Array all = checked_latents(parameters, latents, rows_);
  const Array lower = factor(parameters);
  return to_parameters(lower, nd::bmm(nd::bmm(lower, all), all.transpose(1, 2)),
                       all.size(2));
}

Array Unstructured::pairs_rows(const Array& parameters, const Array& rows,
                               const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  const Array columns = factor(parameters).index_select(2, rows);
  const Array diagonal = columns.square().sum(1).unsqueeze(2);
  const double weight = pair_weight(rows.size(0));
  return weight * nd::bmm(columns.transpose(1, 2), nd::bmm(columns, batch)) +
         (1 - weight) * diagonal * batch;
}

Array Unstructured::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                             const Array& latents) const {
  const Array batch = checked_latents(parameters, latents, rows.size(0));
  const Array lower = factor(parameters);
  const Array columns = lower.index_select(2, rows);
  const double weight = pair_weight(rows.size(0));
  const double scale = static_cast<double>(rows_) / static_cast<double>(rows.size(0));
  // Columns of L times the weighted products of the batch's latents.
  const Array mixed = weight * nd::bmm(nd::bmm(columns, batch), batch.transpose(1, 2)) +
                      (1 - weight) * columns * batch.square().sum(2).unsqueeze(1);
  const Array factor_gradient =
      nd::zeros_like(lower).index_copy_(2, rows, scale * mixed);
  return to_parameters(lower, factor_gradient, batch.size(2));
}

std::unique_ptr<LatentMemory> Unstructured::make_memory() const {
  return std::make_unique<Memory>(*this);
}

Array Unstructured::to_unconstrained(const Array& parameters) const {
  return parameters.to(nd::kDouble).clone();
}

Array Unstructured::from_unconstrained(const Array& unconstrained) const {
  return unconstrained.to(nd::kDouble).clone();
}

Array Unstructured::unconstrained_gradient(const Array& /*parameters*/,
                                           const Array& gradient) const {
  return gradient;
}

Array Unstructured::unconstrained_prior_gradient(const Array& parameters) const {
  return parameters.to(nd::kDouble);
}

Array Unstructured::prior_objective(const Array& parameters) const {
  return 0.5 * checked_parameters(parameters).square().sum(1);
}

Array Unstructured::default_parameters() const {
  return nd::zeros({parameter_count()}, nd::kDouble);
}

Array Unstructured::sample(const Array& parameters, std::int64_t columns,
                           Random& random) const {
  const Array lower = factor(checked_one_replica(parameters).unsqueeze(0)).squeeze(0);
  const Array normal = normal_numbers({rows_, columns}, random).to(lower.device());
  return nd::linalg_solve_triangular(lower, normal, /*upper=*/false).cpu();
}

Array Unstructured::covariance(const Array& parameters) const {
  const Array lower = factor(checked_one_replica(parameters).unsqueeze(0)).squeeze(0);
  const Array inverse = nd::linalg_solve_triangular(
      lower, nd::eye(rows_, lower.options()), /*upper=*/false);
  return nd::mm(inverse, inverse.t()).unsqueeze(0);
}

}  // namespace kinflow
