// The arithmetic of ActNorm.
#include "kinflow/flow/activation_norm.h"

#include "kinflow/array/array.h"

namespace kinflow {

ActivationNorm::ActivationNorm(std::int64_t replicas, std::int64_t dimension)
    : log_scale_(nd::zeros({replicas, 1, dimension}, nd::kDouble)),
      shift_(nd::zeros({replicas, 1, dimension}, nd::kDouble)) {}

LatentResult ActivationNorm::to_latent(const Array& data,
                                       const Array& /*context*/) const {
  return {.latents = data * log_scale_.exp() + shift_,
          .log_abs_det = log_scale_.sum(-1).expand({-1, data.size(1)})};
}

Array ActivationNorm::from_latent(const Array& latents,
                                  const Array& /*context*/) const {
  return (latents - shift_) * (-log_scale_).exp();
}

void ActivationNorm::visit_parameters(const ParameterVisitor& visit) {
  visit({.name = "log_scale", .tensor = log_scale_});
  visit({.name = "shift", .tensor = shift_});
}

}  // namespace kinflow
