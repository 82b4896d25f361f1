// One step of Adamax.
#include "kinflow/train/adamax.h"

#include <ATen/ATen.h>

#include <cmath>

#include "kinflow/flow/kernels/kernel_plan.h"

namespace kinflow {

Adamax::Adamax(const at::Tensor& parameters)
    : first_moment(at::zeros_like(parameters)),
      infinity_norm(at::zeros_like(parameters)),
      steps(at::zeros({parameters.size(0), 1}, parameters.options().dtype(at::kLong))) {
}

void Adamax::step(at::Tensor& parameters, const at::Tensor& gradient,
                  const at::Tensor& learning_rate, const at::Tensor& weight_decay,
                  const at::Tensor& active) {
  const auto decayed = weight_decay.defined()
                           ? at::addcmul(gradient, parameters, weight_decay)
                           : gradient;
  const auto moment = at::lerp(first_moment, decayed, 1 - kAdamaxFirstDecay);
  const auto norm =
      at::maximum(infinity_norm * kAdamaxNormDecay, decayed.abs().add(kAdamaxEpsilon));
  const auto count = steps + 1;
  const auto correction = 1 - at::pow(at::full_like(learning_rate, kAdamaxFirstDecay),
                                      count.to(learning_rate));
  const auto next = parameters - learning_rate / correction * moment / norm;
  first_moment = at::where(active, moment, first_moment);
  infinity_norm = at::where(active, norm, infinity_norm);
  steps = at::where(active, count, steps);
  parameters.copy_(at::where(active, next, parameters));
}

double Adamax::correction(std::int64_t steps) {
  return 1 - std::pow(kAdamaxFirstDecay, static_cast<double>(steps));
}

void Adamax::reset(const at::Tensor& which) {
  first_moment.masked_fill_(which, 0);
  infinity_norm.masked_fill_(which, 0);
  steps.masked_fill_(which, 0);
}

}  // namespace kinflow
