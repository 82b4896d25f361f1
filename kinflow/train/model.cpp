// Densities and transforms of a model in original units.
#include "kinflow/train/model.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

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

LearnedDependence Model::dependence_of(std::int64_t member) const {
  auto result = dependence;
  if (member > 0) {
    result.parameters = further_parameters.at(static_cast<std::size_t>(member - 1));
  }
  return result;
}

Model Model::member(std::int64_t member) const {
  Model single{.columns = columns,
               .context_columns = context_columns,
               .context_levels = context_levels,
               .standardization = standardization,
               .context_standardization = context_standardization,
               .flow = select_replicas(*flow, {member}, flow->values().device()),
               .dependence = dependence_of(member),
               .record = {}};
  single.minus_nine = minus_nine;
  if (calibration) single.calibration = calibration->of_replicas({member});
  return single;
}

Model Model::single() const {
  auto one = member(0);
  if (map) {
    one.flow = select_replicas(*map, {0}, map->values().device());
    one.calibration.reset();
  }
  return one;
}

at::Tensor Model::row_log_density(const at::Tensor& data,
                                  const at::Tensor& context) const {
  if (calibration) {
    const auto result = member_latents(data, context);
    return mixture_log_density(standard_normal_log_density(result.latents) +
                               result.log_abs_det);
  }
  const auto densities =
      kinflow::row_log_density(*flow, standardized(standardization, data, *flow),
                               standardized(context_standardization, context, *flow));
  return mixture_log_density(as_double(densities)) + standardization.log_abs_det();
}

LatentResult Model::member_latents(const at::Tensor& data,
                                   const at::Tensor& context) const {
  const auto result =
      all_latents(*flow, standardized(standardization, data, *flow),
                  standardized(context_standardization, context, *flow));
  LatentResult own{
      .latents = as_double(result.latents),
      .log_abs_det = as_double(result.log_abs_det) + standardization.log_abs_det()};
  return calibration ? calibration->apply(own) : own;
}

LatentResult Model::to_latent(const at::Tensor& data, const at::Tensor& context) const {
  if (members() > 1 || map) return single().to_latent(data, context);
  const auto result = member_latents(data, context);
  return {.latents = result.latents[0], .log_abs_det = result.log_abs_det[0]};
}

at::Tensor Model::from_latent(const at::Tensor& latents,
                              const at::Tensor& context) const {
  if (members() > 1 || map) return single().from_latent(latents, context);
  const auto own =
      calibration ? calibration->undo(latents.unsqueeze(0)) : latents.unsqueeze(0);
  const auto data = all_data(*flow, own.to(flow->values().options()),
                             standardized(context_standardization, context, *flow));
  return standardization.undo(as_double(data[0]));
}

std::unique_ptr<Flow> select_replicas(const Flow& flow,
                                      const std::vector<std::int64_t>& replicas,
                                      at::Device device) {
  auto selected = std::make_unique<Flow>(flow.options(),
                                         std::vector<std::uint64_t>(replicas.size(), 0),
                                         flow.values().scalar_type(), device);
  const c10::NoGradGuard no_grad;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    selected->values()[static_cast<std::int64_t>(i)].copy_(flow.values()[replicas[i]]);
  }
  return selected;
}

at::Tensor mixture_log_density(const at::Tensor& log_densities) {
  return log_densities.logsumexp(0) -
         std::log(static_cast<double>(log_densities.size(0)));
}

double joint_log_density(const Dependence& dependence, const at::Tensor& parameters,
                         const LatentResult& latents) {
  return dependence.log_density(parameters.unsqueeze(0), latents.latents.unsqueeze(0))
             .item<double>() +
         latents.log_abs_det.sum().item<double>();
}

}  // namespace kinflow
