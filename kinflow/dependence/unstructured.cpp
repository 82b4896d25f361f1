// The Cholesky factor of the precision as parameters.
#include "kinflow/dependence/unstructured.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "kinflow/core/error.h"
#include "kinflow/core/tensor_numbers.h"

namespace kinflow {
namespace {

/// Places of the lower triangle, row by row, in a matrix [n, n]: [n (n + 1) / 2] int64.
at::Tensor triangle_places(std::int64_t n, at::Device device) {
  const at::Tensor places = at::tril_indices(n, n);
  return (places[0] * n + places[1]).to(device);
}

}  // namespace

/// Keeps the latents alone.
class Unstructured::Memory final : public LatentMemory {
 public:
  explicit Memory(const Unstructured& law) : LatentMemory(law.rows()), law_(law) {}

  void update(const at::Tensor& rows, const at::Tensor& latents) override {
    exchange_rows(rows, latents);
  }
  at::Tensor precision_rows(const at::Tensor& parameters,
                            const at::Tensor& rows) const override {
    return law_.precision_times(parameters, latents_).index_select(1, rows);
  }
  at::Tensor parameter_gradient(const at::Tensor& parameters) const override {
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

at::Tensor Unstructured::factor(const at::Tensor& parameters) const {
  const at::Tensor checked = checked_parameters(parameters);
  at::Tensor result = at::zeros({checked.size(0), rows_ * rows_}, checked.options());
  result.index_copy_(1, triangle_places(rows_, checked.device()), checked);
  result = result.view({-1, rows_, rows_});
  result.diagonal(0, 1, 2).exp_();
  return result;
}

at::Tensor Unstructured::to_parameters(const at::Tensor& factor,
                                       const at::Tensor& factor_gradient,
                                       std::int64_t columns) const {
  at::Tensor gradient = factor_gradient.contiguous();
  at::Tensor diagonal = gradient.diagonal(0, 1, 2);
  diagonal.mul_(factor.diagonal(0, 1, 2)).sub_(static_cast<double>(columns));
  return gradient.flatten(1).index_select(1, triangle_places(rows_, factor.device()));
}

at::Tensor Unstructured::log_det(const at::Tensor& parameters) const {
  const at::Tensor last = at::arange(1, rows_ + 1, at::kLong);
  const at::Tensor diagonal = (last * (last + 1)).floor_divide(2) - 1;
  return -2 * checked_parameters(parameters)
                  .index_select(1, diagonal.to(parameters.device()))
                  .sum(1);
}

at::Tensor Unstructured::precision_times(const at::Tensor& parameters,
                                         const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows_);
  const at::Tensor lower = factor(parameters);
  return at::bmm(lower.transpose(1, 2), at::bmm(lower, all));
}

at::Tensor Unstructured::quadratic(const at::Tensor& parameters,
                                   const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows_);
  return at::bmm(factor(parameters), all).square().sum({1, 2});
}

at::Tensor Unstructured::parameter_gradient(const at::Tensor& parameters,
                                            const at::Tensor& latents) const {
  const at::Tensor all = checked_latents(parameters, latents, rows_);
  const at::Tensor lower = factor(parameters);
  return to_parameters(lower, at::bmm(at::bmm(lower, all), all.transpose(1, 2)),
                       all.size(2));
}

at::Tensor Unstructured::pairs_rows(const at::Tensor& parameters,
                                    const at::Tensor& rows,
                                    const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor columns = factor(parameters).index_select(2, rows);
  const at::Tensor diagonal = columns.square().sum(1).unsqueeze(2);
  const double weight = pair_weight(rows.size(0));
  return weight * at::bmm(columns.transpose(1, 2), at::bmm(columns, batch)) +
         (1 - weight) * diagonal * batch;
}

at::Tensor Unstructured::pairs_parameter_gradient(const at::Tensor& parameters,
                                                  const at::Tensor& rows,
                                                  const at::Tensor& latents) const {
  const at::Tensor batch = checked_latents(parameters, latents, rows.size(0));
  const at::Tensor lower = factor(parameters);
  const at::Tensor columns = lower.index_select(2, rows);
  const double weight = pair_weight(rows.size(0));
  const double scale = static_cast<double>(rows_) / static_cast<double>(rows.size(0));
  // Columns of L times the weighted products of the batch's latents.
  const at::Tensor mixed =
      weight * at::bmm(at::bmm(columns, batch), batch.transpose(1, 2)) +
      (1 - weight) * columns * batch.square().sum(2).unsqueeze(1);
  const at::Tensor factor_gradient =
      at::zeros_like(lower).index_copy_(2, rows, scale * mixed);
  return to_parameters(lower, factor_gradient, batch.size(2));
}

std::unique_ptr<LatentMemory> Unstructured::make_memory() const {
  return std::make_unique<Memory>(*this);
}

at::Tensor Unstructured::to_unconstrained(const at::Tensor& parameters) const {
  return parameters.to(at::kDouble).clone();
}

at::Tensor Unstructured::from_unconstrained(const at::Tensor& unconstrained) const {
  return unconstrained.to(at::kDouble).clone();
}

at::Tensor Unstructured::unconstrained_gradient(const at::Tensor& /*parameters*/,
                                                const at::Tensor& gradient) const {
  return gradient;
}

at::Tensor Unstructured::unconstrained_prior_gradient(
    const at::Tensor& parameters) const {
  return parameters.to(at::kDouble);
}

at::Tensor Unstructured::prior_objective(const at::Tensor& parameters) const {
  return 0.5 * checked_parameters(parameters).square().sum(1);
}

at::Tensor Unstructured::default_parameters() const {
  return at::zeros({parameter_count()}, at::kDouble);
}

at::Tensor Unstructured::sample(const at::Tensor& parameters, std::int64_t columns,
                                Random& random) const {
  const at::Tensor lower =
      factor(checked_one_replica(parameters).unsqueeze(0)).squeeze(0);
  const at::Tensor normal = normal_numbers({rows_, columns}, random).to(lower.device());
  return at::linalg_solve_triangular(lower, normal, /*upper=*/false).cpu();
}

at::Tensor Unstructured::covariance(const at::Tensor& parameters) const {
  const at::Tensor lower =
      factor(checked_one_replica(parameters).unsqueeze(0)).squeeze(0);
  const at::Tensor inverse = at::linalg_solve_triangular(
      lower, at::eye(rows_, lower.options()), /*upper=*/false);
  return at::mm(inverse, inverse.t()).unsqueeze(0);
}

}  // namespace kinflow
