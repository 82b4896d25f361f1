// One step of Adamax.
#include "kinflow/engine/adamax.h"

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/core/workers.h"
#include "kinflow/flow/cpu/fused_flow.h"
#include "kinflow/flow/cpu/kernel_plan.h"

namespace kinflow {

Adamax::Adamax(const Array& parameters)
    : first_moment(nd::zeros_like(parameters)),
      infinity_norm(nd::zeros_like(parameters)),
      steps(nd::zeros({parameters.size(0), 1}, parameters.options().dtype(nd::kLong))) {
}

void Adamax::step(Array& parameters, const Array& gradient, const Array& learning_rate,
                  const Array& weight_decay, const Array& active) {
  const auto decayed = weight_decay.defined()
                           ? nd::addcmul(gradient, parameters, weight_decay)
                           : gradient;
  const auto moment = nd::lerp(first_moment, decayed, 1 - kAdamaxFirstDecay);
  const auto norm =
      nd::maximum(infinity_norm * kAdamaxNormDecay, decayed.abs().add(kAdamaxEpsilon));
  const auto count = steps + 1;
  const auto correction = 1 - nd::pow(nd::full_like(learning_rate, kAdamaxFirstDecay),
                                      count.to(learning_rate));
  const auto next = parameters - learning_rate / correction * moment / norm;
  nd::where_out(first_moment, active, moment, first_moment);
  nd::where_out(infinity_norm, active, norm, infinity_norm);
  nd::where_out(steps, active, count, steps);
  nd::where_out(parameters, active, next, parameters);
}

template <typename Real>
void Adamax::step_on_cpu(Array& parameters, const Array& gradient,
                         const Array& learning_rate, const Array& weight_decay,
                         const Array& active) {
  const auto slopes = gradient.contiguous(), decays = weight_decay.contiguous();
  const auto rates = learning_rate.to(nd::kDouble).contiguous();
  const auto moves = active.contiguous();
  const std::int64_t count = parameters.size(1);
  shared_workers().run(
      parameters.size(0), [&](std::int64_t r, std::int64_t /*thread*/) {
        if (!moves.data_ptr<bool>()[r]) return;
        const auto step = ++steps.data_ptr<std::int64_t>()[r];
        adamax_step<Real>(
            {.values = parameters.data_ptr<Real>() + r * count,
             .first_moment = first_moment.data_ptr<Real>() + r * count,
             .infinity_norm = infinity_norm.data_ptr<Real>() + r * count,
             .gradient = slopes.data_ptr<Real>() + r * count,
             .decays = decays.data_ptr<Real>() + r * count,
             .count = count,
             .rate = static_cast<Real>(rates.data_ptr<double>()[r] / correction(step)),
             .weight_decay = 1});
      });
}

void Adamax::step_by_kernels(Array& parameters, const Array& gradient,
                             const Array& learning_rate, const Array& weight_decay,
                             const Array& active) {
  if (parameters.scalar_type() == nd::kFloat) {
    step_on_cpu<float>(parameters, gradient, learning_rate, weight_decay, active);
  } else {
    step_on_cpu<double>(parameters, gradient, learning_rate, weight_decay, active);
  }
}

double Adamax::correction(std::int64_t steps) {
  return 1 - std::pow(kAdamaxFirstDecay, static_cast<double>(steps));
}

void Adamax::reset(const Array& which) {
  first_moment.masked_fill_(which, 0);
  infinity_norm.masked_fill_(which, 0);
  steps.masked_fill_(which, 0);
}

}  // namespace kinflow
