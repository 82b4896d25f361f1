// The arithmetic of ActNorm.
#include "kinflow/flow/activation_norm.h"

#include <ATen/ATen.h>

namespace kinflow {

ActivationNorm::ActivationNorm(std::int64_t replicas, std::int64_t dimension)
    : log_scale_(at::zeros({replicas, 1, dimension}, at::kDouble)),
      shift_(at::zeros({replicas, 1, dimension}, at::kDouble)) {}

LatentResult ActivationNorm::to_latent(const at::Tensor& data,
                                       const at::Tensor& /*context*/) const {
  return {.latents = data * log_scale_.exp() + shift_,
          .log_abs_det = log_scale_.sum(-1).expand({-1, data.size(1)})};
}

at::Tensor ActivationNorm::from_latent(const at::Tensor& latents,
                                       const at::Tensor& /*context*/) const {
  return (latents - shift_) * (-log_scale_).exp();
}

void ActivationNorm::visit_parameters(const ParameterVisitor& visit) {
  visit({.name = "log_scale", .tensor = log_scale_});
  visit({.name = "shift", .tensor = shift_});
}

}  // namespace kinflow
