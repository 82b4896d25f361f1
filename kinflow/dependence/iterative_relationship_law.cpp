// Draws and conditional laws of a relationship matrix that is only multiplied.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/iterative_relationship.h"

namespace kinflow {
namespace {

/// By how much the largest eigenvalue is put above the largest one seen.
constexpr double kMargin = 1.02;
/// Unknown rows whose variances are computed at a time.
constexpr std::int64_t kPanelRows = 256;

/// Chebyshev coefficients of the root on [low, high] up to the given degree.
std::vector<double> root_coefficients(double low, double high, std::int64_t degree) {
  const std::int64_t points = 2 * (degree + 1);
  const auto count = static_cast<double>(points);
  std::vector<double> values;
  for (std::int64_t i = 0; i < points; ++i) {
    const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) / count;
    values.push_back(
        std::sqrt(0.5 * (low + high) + 0.5 * (high - low) * std::cos(angle)));
  }
  std::vector<double> result;
  for (std::int64_t j = 0; j <= degree; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < points; ++i) {
      sum += values[static_cast<std::size_t>(i)] *
             std::cos(std::numbers::pi * static_cast<double>(j) *
                      (static_cast<double>(i) + 0.5) / count);
    }
    result.push_back((j == 0 ? 1 : 2) * sum / count);
  }
  return result;
}

}  // namespace

Array IterativeRelationship::sample(const Array& parameters, std::int64_t columns,
                                    Random& random) const {
  const Array lambda = checked_one_replica(parameters).to(relationship_->device());
  const Array normal =
      normal_numbers({rows(), columns}, random).to(relationship_->device());
  const Array along = nd::mm(subspace_.vectors.t(), normal);
  const Array known =
      nd::mm(subspace_.vectors, subspace_.variances(lambda).sqrt() * along);
  if (subspace_.is_complete()) return known.cpu();

  // Outside the subspace C has its eigenvalues in [low, high], on which the terms of
  // the root's expansion fall like powers of `ratio`.
  const double low = lambda.item<double>();
  const double high = low + (1 - low) * kMargin * largest_of_rest_;
  const double root = std::sqrt(high / low);
  const double ratio = (root + 1) / std::max(root - 1, 1e-12);
  const double needed =
      std::ceil(std::log(root / options_.tolerance) / std::log(ratio));
  if (needed > static_cast<double>(options_.max_iterations)) {
    throw NumericalError(fmt::format(
        "[iterative-relationship] a draw for lambda = {:.4g} takes {:.0f} iterations, "
        "more than {}; allow more iterations or a larger tolerance, or keep lambda "
        "further from 0",
        low, needed, options_.max_iterations));
  }
  const std::vector<double> coefficients =
      root_coefficients(low, high, static_cast<std::int64_t>(needed));
  // Chebyshev's recursion in the matrix that maps [low, high] to [-1, 1].
  const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
  const auto mapped = [&](const Array& x) {
    return subspace_.remove_from(times(x, lambda) - middle * x) / half;
  };
  Array previous = normal - nd::mm(subspace_.vectors, along);
  Array result = known + coefficients[0] * previous;
  if (coefficients.size() == 1) return result.cpu();
  Array current = mapped(previous);
  for (std::size_t j = 1;; ++j) {
    result.add_(current, coefficients[j]);
    if (j + 1 == coefficients.size()) break;
    const Array next = 2 * mapped(current) - previous;
    previous = current;
    current = next;
  }
  return result.cpu();
}

IterativeRelationship::Observation IterativeRelationship::observe(
    const Array& parameters, const Array& observed, const Array& latents) const {
  const nd::Device device = relationship_->device();
  Observation given{observed.to(device),
                    checked_unknown_rows(observed, latents).to(device),
                    latents.to(device, nd::kDouble),
                    checked_one_replica(parameters).to(device),
                    {}};
  // The observed rows' part of the approximate C is rest I + B diag(d) B' with these
  // rows B of Q, which are not orthonormal; its inverse is (I - B M B') / rest.
  const Array vectors = subspace_.vectors.index_select(0, given.observed);
  const Array rest = subspace_.rest_variance(given.lambda);
  const Array scale = (1 - given.lambda) * (subspace_.values - subspace_.rest_mean);
  const Array inner = nd::mm(vectors.t(), vectors) * scale +
                      rest * nd::eye(subspace_.count(), vectors.options());
  const Array middle = scale.unsqueeze(1) * nd::linalg_inv(inner);
  given.system = {
      .times =
          [this, known = given.observed](const Array& x, const Array& lambda) {
            const Array all =
                nd::zeros({rows(), x.size(1)}, x.options()).index_copy(0, known, x);
            return lambda * x +
                   (1 - lambda) * relationship_->times(all).index_select(0, known);
          },
      .precondition =
          [vectors, rest, middle = (0.5 * (middle + middle.t()))](const Array& x,
                                                                  const Array&) {
            return (x - nd::mm(vectors, nd::mm(middle, nd::mm(vectors.t(), x)))) / rest;
          },
      .largest_eigenvalue = largest_eigenvalue_};
  return given;
}

Array IterativeRelationship::solve_observed(const Observation& given,
                                            const Array& right) const {
  return conjugate_gradients(given.system, right, given.lambda.expand({right.size(1)}),
                             Array(),
                             {.tolerance = options_.tolerance,
                              .max_iterations = options_.max_iterations})
      .values;
}

Array IterativeRelationship::regress(const Observation& given,
                                     const Array& right) const {
  const Array all = nd::zeros({rows(), right.size(1)}, right.options())
                        .index_copy(0, given.observed, solve_observed(given, right));
  return (1 - given.lambda) * relationship_->times(all).index_select(0, given.unknown);
}

ConditionalLaw IterativeRelationship::condition(const Array& parameters,
                                                const Array& observed,
                                                const Array& latents) const {
  const Observation given = observe(parameters, observed, latents);
  const Array between =
      (1 - given.lambda) * relationship_->block(given.observed, given.unknown);
  const Array own =
      (1 - given.lambda) * relationship_->block(given.unknown, given.unknown) +
      nd::diag(given.lambda.expand({given.unknown.size(0)}));
  const Array explained = regress(given, between);
  const nd::Device device = latents.device();
  return {given.unknown.to(device), regress(given, given.latents).to(device),
          (own - 0.5 * (explained + explained.t())).unsqueeze(0).to(device)};
}

ConditionalRows IterativeRelationship::condition_rows(const Array& parameters,
                                                      const Array& observed,
                                                      const Array& latents) const {
  const Observation given = observe(parameters, observed, latents);
  std::vector<Array> variances;
  for (const Array& panel : given.unknown.split(kPanelRows)) {
    const Array between =
        (1 - given.lambda) * relationship_->block(given.observed, panel);
    const Array own = given.lambda + (1 - given.lambda) *
                                         relationship_->block(panel, panel).diagonal();
    variances.push_back(own - (between * solve_observed(given, between)).sum(0));
  }
  const nd::Device device = latents.device();
  return {given.unknown.to(device), regress(given, given.latents).to(device),
          nd::cat(variances).unsqueeze(1).to(device)};
}

Array IterativeRelationship::sample_given(const Array& parameters,
                                          const Array& observed, const Array& latents,
                                          Random& random) const {
  const Observation given = observe(parameters, observed, latents);
  Array draw = sample(parameters, latents.size(1), random).to(relationship_->device());
  const Array error = given.latents - draw.index_select(0, given.observed);
  draw.index_add_(0, given.unknown, regress(given, error));
  return draw.index_copy_(0, given.observed, given.latents).cpu();
}

}  // namespace kinflow
