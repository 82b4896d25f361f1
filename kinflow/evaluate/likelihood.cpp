// Scores of rows and of learned correlations.
#include "kinflow/evaluate/likelihood.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <unordered_map>

#include "kinflow/core/error.h"
#include "kinflow/flow/density.h"

namespace kinflow {
namespace {

// Means over rows, and checks that they are finite.
Likelihood summarize(const at::Tensor& density, const TableRows& rows) {
  check_finite_density(density, rows);
  RunningMean mean;
  mean.add(density);
  auto result = likelihood_of(mean, rows.data.size(1));
  result.row_log_density_nats = density;
  return result;
}

// log p of latents [m, p] under a conditional law.
double dense_log_density(const ConditionalLaw& law, const at::Tensor& latents) {
  const auto [root, info] = at::linalg_cholesky_ex(law.covariance);
  if (info.item<int>() != 0) {
    throw NumericalError(
        "the covariance of the rows given the observed ones is not positive definite");
  }
  const auto whitened =
      at::linalg_solve_triangular(root, latents - law.mean, /*upper=*/false);
  return (standard_normal_log_density(whitened).sum() -
          static_cast<double>(latents.size(1)) * root.diagonal().log().sum())
      .item<double>();
}

double finite_joint(double joint) {
  if (std::isfinite(joint)) return joint;
  throw NumericalError("the joint log-density is not finite");
}

}  // namespace

void RunningMean::add(const at::Tensor& values) {
  const auto numbers = values.contiguous();
  const double* number = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    ++count;
    const double before = number[i] - mean;
    mean += before / static_cast<double>(count);
    squares += before * (number[i] - mean);
  }
}

Likelihood likelihood_of(const RunningMean& log_density, std::int64_t columns) {
  const auto count = static_cast<double>(log_density.count);
  Likelihood result{.rows = log_density.count,
                    .mean_nll_nats = -log_density.mean,
                    .row_log_density_nats = {},
                    .joint_log_density_nats = {}};
  if (log_density.count > 1) {
    result.standard_error_nats = std::sqrt(log_density.squares / (count - 1) / count);
  }
  result.bits_per_dimension =
      result.mean_nll_nats / std::numbers::ln2 / static_cast<double>(columns);
  return result;
}

at::Tensor row_log_density(const LatentResult& latents) {
  return standard_normal_log_density(latents.latents) + latents.log_abs_det;
}

void check_finite_density(const at::Tensor& density, const TableRows& rows) {
  const auto bad = at::isfinite(density).logical_not();
  if (!bad.any().item<bool>()) return;
  const auto first = bad.to(at::kLong).argmax().item<std::int64_t>();
  throw NumericalError(fmt::format(
      "the density of row {} of the table is not finite: is it far outside the "
      "training data?",
      rows.first_row + rows.kept_rows.at(static_cast<std::size_t>(first)) + 1));
}

Likelihood evaluate_likelihood(const Model& model, const TableRows& rows,
                               const RowLaw* law) {
  const auto latents = model.to_latent(rows.data, rows.context);
  auto result = summarize(row_log_density(latents), rows);
  if (law != nullptr) {
    result.joint_log_density_nats =
        finite_joint(joint_log_density(*law->law, law->parameters, latents));
  }
  return result;
}

Likelihood evaluate_given(const Model& model, const TableRows& observed,
                          const TableRows& rows, const RowLaw& law,
                          const RowLaw* observed_law) {
  const auto known = model.to_latent(observed.data, observed.context);
  const auto latents = model.to_latent(rows.data, rows.context);
  const auto first = at::arange(observed.data.size(0), at::kLong);
  const auto given = law.law->condition_rows(law.parameters, first, known.latents);
  const auto deviation = given.variance.sqrt();
  const auto columns = static_cast<double>(rows.data.size(1));
  auto result = summarize(standard_normal_log_density((latents.latents - given.mean) /
                                                      deviation.unsqueeze(1)) -
                              columns * deviation.log() + latents.log_abs_det,
                          rows);
  if (observed_law != nullptr) {
    const LatentResult all{
        .latents = at::cat({known.latents, latents.latents}),
        .log_abs_det = at::cat({known.log_abs_det, latents.log_abs_det})};
    result.joint_log_density_nats = finite_joint(
        joint_log_density(*law.law, law.parameters, all) -
        joint_log_density(*observed_law->law, observed_law->parameters, known));
  } else {
    result.joint_log_density_nats = finite_joint(
        dense_log_density(law.law->condition(law.parameters, first, known.latents),
                          latents.latents) +
        latents.log_abs_det.sum().item<double>());
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
