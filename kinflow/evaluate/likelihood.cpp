// Scores of rows and of learned correlations.
#include "kinflow/evaluate/likelihood.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <unordered_map>

#include "kinflow/core/error.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

double joint_of_blocks(const Model& model, const TableRows& rows,
                       const EvaluatedDependence& dependence,
                       const LatentResult& latents) {
  const auto labelled = make_blocks(rows.labels, BlockCorrelation::per_block);
  const auto correlations =
      model.dependence.correlations_of(labelled.labels, dependence.parameter);
  return joint_log_density(*labelled.blocks, at::tensor(correlations, at::kDouble),
                           latents);
}

double joint_of_relationship(const Model& model, const EvaluatedDependence& dependence,
                             const LatentResult& latents) {
  const double lambda =
      model.dependence.parameter_for("relationship", dependence.parameter);
  return joint_log_density(Relationship(dependence.relationship),
                           at::tensor({lambda}, at::kDouble), latents);
}

}  // namespace

Likelihood evaluate_likelihood(const Model& model, const TableRows& rows,
                               const EvaluatedDependence& dependence) {
  const auto latents = model.to_latent(rows.data, rows.context);
  const auto density =
      standard_normal_log_density(latents.latents) + latents.log_abs_det;
  const auto count = rows.data.size(0);
  Likelihood result{.rows = count,
                    .mean_nll_nats = -density.mean().item<double>(),
                    .row_log_density_nats = density,
                    .joint_log_density_nats = {}};
  if (count > 1) {
    result.standard_error_nats =
        density.std().item<double>() / std::sqrt(static_cast<double>(count));
  }
  result.bits_per_dimension =
      result.mean_nll_nats / std::numbers::ln2 / static_cast<double>(rows.data.size(1));
  if (dependence.by_group) {
    result.joint_log_density_nats = joint_of_blocks(model, rows, dependence, latents);
  } else if (dependence.relationship.defined()) {
    result.joint_log_density_nats = joint_of_relationship(model, dependence, latents);
  }
  if (!std::isfinite(result.mean_nll_nats)) {
    const auto worst = at::isfinite(density).logical_not().to(at::kLong).argmax();
    throw NumericalError(fmt::format(
        "the density of row {} of the table is not finite: is it far outside the "
        "training data?",
        rows.kept_rows.at(static_cast<std::size_t>(worst.item<std::int64_t>())) + 1));
  }
  if (!std::isfinite(result.joint_log_density_nats.value_or(0))) {
    throw NumericalError("the joint log-density is not finite");
  }
  return result;
}

CorrelationError correlation_error(const LearnedDependence& learned,
                                   const std::vector<std::string>& true_labels,
                                   const std::vector<double>& true_correlations) {
  std::unordered_map<std::string, double> truth;
  for (std::size_t i = 0; i < true_labels.size(); ++i) {
    truth[true_labels[i]] = true_correlations[i];
  }
  CorrelationError error;
  for (std::size_t i = 0; i < learned.labels.size(); ++i) {
    const auto found = truth.find(learned.labels[i]);
    if (found == truth.end()) continue;
    const double difference = learned.parameters[i] - found->second;
    error.mean_squared += difference * difference;
    error.mean_absolute += std::abs(difference);
    ++error.blocks;
  }
  if (error.blocks > 0) {
    error.mean_squared /= static_cast<double>(error.blocks);
    error.mean_absolute /= static_cast<double>(error.blocks);
  }
  return error;
}

}  // namespace kinflow
