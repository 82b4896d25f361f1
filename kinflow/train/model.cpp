// Densities and transforms of a model in original units.
#include "kinflow/train/model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "kinflow/core/error.h"
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

bool is_in_range(const std::string& kind, double parameter) {
  return kind == "blocks" ? parameter >= 0 && parameter < 1
                          : parameter > 0 && parameter <= 1;
}

double LearnedDependence::typical_parameter() const {
  if (kind != "blocks") return parameters.at(0);
  double weighted = 0, repeats = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto weight = static_cast<double>(sizes[i] - 1);
    weighted += weight * parameters[i];
    repeats += weight;
  }
  return repeats > 0 ? weighted / repeats : 0;
}

double LearnedDependence::parameter_for(const std::string& wanted,
                                        std::optional<double> instead) const {
  if (instead && !is_in_range(wanted, *instead)) {
    throw InputError(fmt::format(
        "--parameter: expected a {}, found {}",
        wanted == "blocks" ? "correlation in [0, 1)" : "lambda in (0, 1]", *instead));
  }
  if (instead) return *instead;
  if (kind == wanted) return typical_parameter();
  throw InputError(fmt::format(
      "--parameter: expected one for {}, since the model was fitted with {}", wanted,
      kind == "independent" ? "independent rows" : "a dependence of kind " + kind));
}

std::vector<double> LearnedDependence::correlations_of(
    const std::vector<std::string>& blocks, std::optional<double> instead) const {
  const double typical = parameter_for("blocks", instead);
  std::unordered_map<std::string, double> known;
  for (std::size_t i = 0; i < labels.size() && !instead; ++i) {
    known[labels[i]] = parameters[i];
  }
  std::vector<double> correlations;
  for (const auto& label : blocks) {
    const auto found = known.find(label);
    correlations.push_back(found == known.end() ? typical : found->second);
  }
  return correlations;
}

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
