// Splitting and joining of columns, and the two maps.
#include "kinflow/flow/coupling.h"

#include <ATen/ATen.h>

#include "kinflow/flow/rational_quadratic_spline.h"

namespace kinflow {
namespace {

// `order` is undefined where columns stay as they are.
at::Tensor reorder(const at::Tensor& rows, const at::Tensor& order) {
  return order.defined() ? rows.index_select(-1, order.to(rows.device())) : rows;
}

}  // namespace

Coupling::Coupling(CouplingColumns columns, std::int64_t parameters_per_column,
                   const Network& network)
    : columns_(std::move(columns)),
      mapped_(mapped_columns(columns_)),
      parameters_per_column_(parameters_per_column),
      conditioner_(columns_.dimension - mapped_ + columns_.context, network.hidden,
                   mapped_ * parameters_per_column, network.first_gain, network.seeds,
                   network.stream) {
  if (columns_.order.empty()) return;
  order_ = at::tensor(columns_.order, at::kLong);
  inverse_order_ = order_.argsort();
}

Coupling::Parts Coupling::split(const at::Tensor& rows) const {
  const auto ordered = reorder(rows, order_);
  const std::int64_t unchanged = columns_.dimension - mapped_;
  if (columns_.maps_first_part) {
    return {.unchanged = ordered.narrow(-1, mapped_, unchanged),
            .mapped = ordered.narrow(-1, 0, mapped_)};
  }
  return {.unchanged = ordered.narrow(-1, 0, unchanged),
          .mapped = ordered.narrow(-1, unchanged, mapped_)};
}

at::Tensor Coupling::join(const at::Tensor& unchanged, const at::Tensor& mapped) const {
  return reorder(columns_.maps_first_part ? at::cat({mapped, unchanged}, -1)
                                          : at::cat({unchanged, mapped}, -1),
                 inverse_order_);
}

at::Tensor Coupling::parameters(const at::Tensor& unchanged,
                                const at::Tensor& context) const {
  auto inputs = unchanged.size(-1) > 0 ? steering(unchanged) : unchanged;
  if (columns_.context > 0) inputs = at::cat({inputs, context}, -1);
  return conditioner_(inputs).unflatten(-1, {mapped_, parameters_per_column_});
}

LatentResult Coupling::to_latent(const at::Tensor& data,
                                 const at::Tensor& context) const {
  const auto parts = split(data);
  const auto result = map(parts.mapped, parameters(parts.unchanged, context));
  return {.latents = join(parts.unchanged, result.values),
          .log_abs_det = result.log_slopes.sum(-1)};
}

at::Tensor Coupling::from_latent(const at::Tensor& latents,
                                 const at::Tensor& context) const {
  const auto parts = split(latents);
  return join(parts.unchanged,
              unmap(parts.mapped, parameters(parts.unchanged, context)));
}

void Coupling::visit_parameters(const ParameterVisitor& visit) {
  conditioner_.visit_parameters("conditioner", visit);
}

SplineCoupling::SplineCoupling(CouplingColumns columns, std::int64_t bins, double bound,
                               const Network& network)
    : Coupling(std::move(columns), spline_parameter_count(bins), network),
      bound_(bound) {}

ElementwiseResult SplineCoupling::map(const at::Tensor& columns,
                                      const at::Tensor& parameters) const {
  return spline_forward(columns, parameters, bound_);
}

at::Tensor SplineCoupling::unmap(const at::Tensor& columns,
                                 const at::Tensor& parameters) const {
  return spline_inverse(columns, parameters, bound_).values;
}

at::Tensor SplineCoupling::steering(const at::Tensor& columns) const {
  return columns.clamp(-bound_, bound_);
}

AffineCoupling::AffineCoupling(CouplingColumns columns, const Network& network)
    : Coupling(std::move(columns), 2, network) {}

ElementwiseResult AffineCoupling::map(const at::Tensor& columns,
                                      const at::Tensor& parameters) const {
  const auto scale = at::sigmoid(parameters.select(-1, 0)).add(0.5);
  return {.values = columns * scale + parameters.select(-1, 1),
          .log_slopes = at::log(scale).expand_as(columns)};
}

at::Tensor AffineCoupling::unmap(const at::Tensor& columns,
                                 const at::Tensor& parameters) const {
  return (columns - parameters.select(-1, 1)) /
         at::sigmoid(parameters.select(-1, 0)).add(0.5);
}

}  // namespace kinflow
