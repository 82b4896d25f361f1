// Splitting and joining of columns, and the two maps.
#include "kinflow/flow/coupling.h"

#include "kinflow/array/array.h"
#include "kinflow/flow/rational_quadratic_spline.h"

namespace kinflow {
namespace {

// `order` is undefined where columns stay as they are.
Array reorder(const Array& rows, const Array& order) {
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
  order_ = nd::tensor(columns_.order, nd::kLong);
  inverse_order_ = order_.argsort();
}

Coupling::Parts Coupling::split(const Array& rows) const {
  const auto ordered = reorder(rows, order_);
  const std::int64_t unchanged = columns_.dimension - mapped_;
  if (columns_.maps_first_part) {
    return {.unchanged = ordered.narrow(-1, mapped_, unchanged),
            .mapped = ordered.narrow(-1, 0, mapped_)};
  }
  return {.unchanged = ordered.narrow(-1, 0, unchanged),
          .mapped = ordered.narrow(-1, unchanged, mapped_)};
}

Array Coupling::join(const Array& unchanged, const Array& mapped) const {
  return reorder(columns_.maps_first_part ? nd::cat({mapped, unchanged}, -1)
                                          : nd::cat({unchanged, mapped}, -1),
                 inverse_order_);
}

Array Coupling::parameters(const Array& unchanged, const Array& context) const {
  auto inputs = unchanged.size(-1) > 0 ? steering(unchanged) : unchanged;
  if (columns_.context > 0) inputs = nd::cat({inputs, context}, -1);
  return conditioner_(inputs).unflatten(-1, {mapped_, parameters_per_column_});
}

LatentResult Coupling::to_latent(const Array& data, const Array& context) const {
  const auto parts = split(data);
  const auto result = map(parts.mapped, parameters(parts.unchanged, context));
  return {.latents = join(parts.unchanged, result.values),
          .log_abs_det = result.log_slopes.sum(-1)};
}

Array Coupling::from_latent(const Array& latents, const Array& context) const {
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

ElementwiseResult SplineCoupling::map(const Array& columns,
                                      const Array& parameters) const {
  return spline_forward(columns, parameters, bound_);
}

Array SplineCoupling::unmap(const Array& columns, const Array& parameters) const {
  return spline_inverse(columns, parameters, bound_).values;
}

Array SplineCoupling::steering(const Array& columns) const {
  return columns.clamp(-bound_, bound_);
}

AffineCoupling::AffineCoupling(CouplingColumns columns, const Network& network)
    : Coupling(std::move(columns), 2, network) {}

ElementwiseResult AffineCoupling::map(const Array& columns,
                                      const Array& parameters) const {
  const auto scale = nd::sigmoid(parameters.select(-1, 0)).add(0.5);
  return {.values = columns * scale + parameters.select(-1, 1),
          .log_slopes = nd::log(scale).expand_as(columns)};
}

Array AffineCoupling::unmap(const Array& columns, const Array& parameters) const {
  return (columns - parameters.select(-1, 1)) /
         nd::sigmoid(parameters.select(-1, 0)).add(0.5);
}

}  // namespace kinflow
