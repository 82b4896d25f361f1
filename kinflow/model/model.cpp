// Densities and transforms of a model in original units.
#include "kinflow/model/model.h"

#include <cmath>

#include "kinflow/array/array.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

Array standardized(const Standardization& standardization, const Array& rows,
                   const Flow& flow) {
  if (!rows.defined()) return rows;
  return standardization.apply(rows).to(flow.values().options());
}

Array as_double(const Array& tensor) { return tensor.to(nd::kCPU, nd::kDouble); }

}  // namespace

ModelPart ModelPart::select(const std::vector<std::int64_t>& members,
                            nd::Device device) const {
  ModelPart selected{.standardization = standardization,
                     .context_standardization = context_standardization,
                     .flow = std::make_unique<Flow>(
                         flow->options(), std::vector<std::uint64_t>(members.size(), 0),
                         flow->values().scalar_type(), device)};
  for (std::size_t i = 0; i < members.size(); ++i) {
    selected.flow->values()[static_cast<std::int64_t>(i)].copy_(
        flow->values()[members[i]]);
  }
  return selected;
}

Array ModelPart::row_log_densities(const Array& data, const Array& context) const {
  const auto densities =
      row_log_density(*flow, standardized(standardization, data, *flow),
                      standardized(context_standardization, context, *flow));
  return as_double(densities) + standardization.log_abs_det(data);
}

LatentResult ModelPart::latents(const Array& data, const Array& context) const {
  const auto result =
      all_latents(*flow, standardized(standardization, data, *flow),
                  standardized(context_standardization, context, *flow));
  return {
      .latents = as_double(result.latents),
      .log_abs_det = as_double(result.log_abs_det) + standardization.log_abs_det(data)};
}

std::int64_t Model::members() const {
  std::int64_t sum = 0;
  for (const auto& part : parts) sum += part.members();
  return sum;
}

LearnedDependence Model::dependence_of(std::int64_t member) const {
  auto result = dependence;
  if (member > 0) {
    result.parameters = further_parameters.at(static_cast<std::size_t>(member - 1));
  }
  return result;
}

Model Model::member(std::int64_t member) const {
  auto part = parts.begin();
  auto place = member;
  while (place >= part->members()) place -= (part++)->members();
  auto single = alone(*part, place);
  single.dependence = dependence_of(member);
  if (calibration) single.calibration = calibration->of_replicas({member});
  return single;
}

Model Model::alone(const ModelPart& part, std::int64_t place) const {
  Model single{.columns = columns,
               .context_columns = context_columns,
               .context_levels = context_levels,
               .parts = {},
               .dependence = {},
               .record = {}};
  single.minus_nine = minus_nine;
  single.parts.push_back(part.select({place}, part.flow->values().device()));
  return single;
}

std::vector<Model> Model::row_members() const {
  std::vector<Model> all;
  if (row_parts.empty()) {
    for (std::int64_t i = 0; i < members(); ++i) all.push_back(member(i));
  }
  for (const auto& part : row_parts) {
    for (std::int64_t i = 0; i < part.members(); ++i) {
      all.push_back(alone(part, i));
    }
  }
  return all;
}

Model Model::single() const {
  auto one = member(0);
  if (map) {
    one.parts[0] = map->select({0}, map->flow->values().device());
    one.calibration.reset();
  }
  return one;
}

Array Model::row_log_density(const Array& data, const Array& context) const {
  if (calibration) {
    const auto result = member_latents(data, context);
    return mixture_log_density(standard_normal_log_density(result.latents) +
                               result.log_abs_det);
  }
  std::vector<Array> densities;
  for (const auto& part : row_parts.empty() ? parts : row_parts) {
    densities.push_back(part.row_log_densities(data, context));
  }
  return mixture_log_density(nd::cat(densities));
}

LatentResult Model::member_latents(const Array& data, const Array& context) const {
  std::vector<Array> latents, log_abs_dets;
  for (const auto& part : parts) {
    auto own = part.latents(data, context);
    latents.push_back(std::move(own.latents));
    log_abs_dets.push_back(std::move(own.log_abs_det));
  }
  LatentResult all{.latents = nd::cat(latents), .log_abs_det = nd::cat(log_abs_dets)};
  return calibration ? calibration->apply(all) : all;
}

LatentResult Model::to_latent(const Array& data, const Array& context) const {
  if (members() > 1 || map) return single().to_latent(data, context);
  const auto result = member_latents(data, context);
  return {.latents = result.latents[0], .log_abs_det = result.log_abs_det[0]};
}

Array Model::from_latent(const Array& latents, const Array& context) const {
  if (members() > 1 || map) return single().from_latent(latents, context);
  const auto own =
      calibration ? calibration->undo(latents.unsqueeze(0)) : latents.unsqueeze(0);
  const auto& [standardization, context_standardization, flow] = parts.front();
  const auto data = all_data(*flow, own.to(flow->values().options()),
                             standardized(context_standardization, context, *flow));
  return standardization.undo(as_double(data[0]));
}

Array mixture_log_density(const Array& log_densities) {
  return log_densities.logsumexp(0) -
         std::log(static_cast<double>(log_densities.size(0)));
}

double joint_log_density(const Dependence& dependence, const Array& parameters,
                         const LatentResult& latents) {
  return dependence.log_density(parameters.unsqueeze(0), latents.latents.unsqueeze(0))
             .item<double>() +
         latents.log_abs_det.sum().item<double>();
}

}  // namespace kinflow
