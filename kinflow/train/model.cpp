// Densities and transforms of a model in original units.
#include "kinflow/train/model.h"

#include <ATen/ATen.h>

#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

at::Tensor standardized(const Standardization& standardization, const at::Tensor& rows,
                        const Flow& flow) {
  if (!rows.defined()) return rows;
  return standardization.apply(rows).to(flow.values().options());
}

at::Tensor as_double(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, at::kDouble);
}

}  // namespace

at::Tensor Model::row_log_density(const at::Tensor& data,
                                  const at::Tensor& context) const {
  const auto density =
      kinflow::row_log_density(*flow, standardized(standardization, data, *flow),
                               standardized(context_standardization, context, *flow));
  return as_double(density.select(0, 0)) + standardization.log_abs_det();
}

LatentResult Model::to_latent(const at::Tensor& data, const at::Tensor& context) const {
  const auto result =
      all_latents(*flow, standardized(standardization, data, *flow),
                  standardized(context_standardization, context, *flow));
  return {.latents = as_double(result.latents.select(0, 0)),
          .log_abs_det = as_double(result.log_abs_det.select(0, 0)) +
                         standardization.log_abs_det()};
}

at::Tensor Model::from_latent(const at::Tensor& latents,
                              const at::Tensor& context) const {
  const auto data = all_data(*flow, latents.to(flow->values().options()).unsqueeze(0),
                             standardized(context_standardization, context, *flow));
  return standardization.undo(as_double(data.select(0, 0)));
}

double joint_log_density(const Dependence& dependence, const at::Tensor& parameters,
                         const LatentResult& latents) {
  return dependence.log_density(parameters.unsqueeze(0), latents.latents.unsqueeze(0))
             .item<double>() +
         latents.log_abs_det.sum().item<double>();
}

}  // namespace kinflow
