// Fisher scoring for the variances of several traits.
#include "kinflow/genetics/mixed_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/genetics/univariate_model.h"

namespace kinflow {
namespace {

/// Up to the rounding of a decomposition.
bool is_at_largest(double ratio) { return ratio >= kLargestRatio * (1 - 1e-6); }

MixedModelFit fit_one_trait(const MixedModelData& data, LikelihoodKind kind) {
  const UnivariateModel model(data, kind);
  const auto found = fit_univariate(model);
  MixedModelFit fit;
  fit.kind = kind;
  fit.variances = {{found.genetic}, {found.residual}};
  VarianceLikelihood likelihood(data, kind);
  fit.log_likelihood = likelihood.go_to(fit.variances);
  fit.canonical = likelihood.canonical();
  fit.coefficients = likelihood.coefficients();
  fit.iterations = found.evaluations;
  const bool is_at_bound =
      found.ratio <= kSmallestRatio * (1 + 1e-9) || is_at_largest(found.ratio);
  fit.gradient_norm = is_at_bound ? 0 : std::abs(found.slope);
  fit.has_converged = std::isfinite(fit.log_likelihood);
  fit.ratios_at_bound = is_at_largest(found.ratio) ? 1 : 0;
  return fit;
}

/// Correlations of what single traits are after their weights: the residuals of the
/// univariate fits.
std::vector<double> correlations(const MixedModelData& data,
                                 const std::vector<RatioPlace>& places) {
  const auto d = data.trait_count();
  std::vector<double> result(to_size(d * d));
  const auto product = [&](std::int64_t a, std::int64_t b) {
    double sum = 0;
    for (std::int64_t i = 0; i < data.rows; ++i) {
      // Residuals over their deviations: P y / sqrt(w).
      sum += places[to_size(a)].residuals[to_size(i)] *
             places[to_size(b)].residuals[to_size(i)] /
             std::sqrt(places[to_size(a)].weights[to_size(i)] *
                       places[to_size(b)].weights[to_size(i)]);
    }
    return sum;
  };
  for (std::int64_t a = 0; a < d; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      result[to_size(a * d + b)] = result[to_size(b * d + a)] = product(a, b);
    }
  }
  std::vector<double> lengths;
  for (std::int64_t a = 0; a < d; ++a) {
    lengths.push_back(std::sqrt(result[to_size(a * d + a)]));
  }
  for (std::int64_t a = 0; a < d; ++a) {
    for (std::int64_t b = 0; b < d; ++b) {
      result[to_size(a * d + b)] /= lengths[to_size(a)] * lengths[to_size(b)];
    }
  }
  return result;
}

/// Variances of single traits with the same correlations in Vg and Ve.
TraitVariances first_variances(const MixedModelData& data) {
  const auto d = data.trait_count();
  // Away from the edges, where gradients of other traits have no say.
  const double mean =
      std::accumulate(data.eigenvalues.begin(), data.eigenvalues.end(), 0.0) /
      static_cast<double>(data.rows);
  const double low = 0.02 / mean, high = 50 / mean;
  std::vector<RatioPlace> places(to_size(d));
  std::vector<double> genetic, residual;
  for (std::int64_t j = 0; j < d; ++j) {
    const auto single = trait_of(data, j);
    const UnivariateModel model(single, LikelihoodKind::restricted);
    model.go_to(std::clamp(fit_univariate(model).ratio, low, high), places[to_size(j)]);
    residual.push_back(places[to_size(j)].quadratic / model.degrees());
    genetic.push_back(residual.back() * places[to_size(j)].ratio);
  }
  auto shared = correlations(data, places);
  TraitVariances start{shared, shared};
  for (std::int64_t a = 0; a < d; ++a) {
    for (std::int64_t b = 0; b < d; ++b) {
      start.genetic[to_size(a * d + b)] *=
          std::sqrt(genetic[to_size(a)] * genetic[to_size(b)]);
      start.residual[to_size(a * d + b)] *=
          std::sqrt(residual[to_size(a)] * residual[to_size(b)]);
    }
  }
  return start;
}

}  // namespace

VarianceSearch maximize(VarianceLikelihood& likelihood, TraitVariances& variances,
                        const MixedModelOptions& options) {
  constexpr int kHalvings = 6;
  VarianceSearch search;
  search.log_likelihood = likelihood.go_to(variances);
  for (; search.iterations < options.iterations; ++search.iterations) {
    if (!std::isfinite(search.log_likelihood)) return search;
    const auto gradient = likelihood.gradient();
    const auto step = likelihood.scoring_step(gradient);
    search.gradient_norm = std::sqrt(2 * std::max(0.0, step.predicted_gain));
    if (step.predicted_gain < options.least_gain) {
      search.has_converged = true;
      break;
    }
    const auto from = likelihood.canonical();
    bool has_risen = false;
    double length = 1;
    for (int i = 0; i <= kHalvings && !has_risen; ++i, length *= 0.5) {
      const double value =
          likelihood.go_to(i < kHalvings ? after(from, step, length)
                                         : em_step(from, gradient, likelihood.rows()));
      has_risen = value > search.log_likelihood;
      if (has_risen) search.log_likelihood = value;
    }
    if (!has_risen) {
      // Rounding hides what is left to gain, or a bound forbids it.
      likelihood.go_to(variances);
      search.has_converged =
          step.predicted_gain < 1e-13 * std::abs(search.log_likelihood) ||
          is_at_largest(from.ratios.back());
      break;
    }
    variances = likelihood.variances();
  }
  return search;
}

MixedModelFit fit_mixed_model(const MixedModelData& data, LikelihoodKind kind,
                              const MixedModelOptions& options) {
  if (data.trait_count() == 1) return fit_one_trait(data, kind);
  MixedModelFit fit;
  fit.kind = kind;
  fit.variances = first_variances(data);
  if (kind == LikelihoodKind::full) {
    // Where K has an eigenvalue 0 whose vector the covariates span, as a centred one
    // with an intercept, ML has no bound towards singular Ve. From the REML estimates
    // the search finds the maximum that is meant.
    VarianceLikelihood restricted(data, LikelihoodKind::restricted);
    maximize(restricted, fit.variances, {options.iterations, 1e-4});
  }
  VarianceLikelihood likelihood(data, kind);
  const auto search = maximize(likelihood, fit.variances, options);
  if (!std::isfinite(search.log_likelihood)) {
    throw NumericalError("[fit_mixed_model] the likelihood is not a number");
  }
  fit.canonical = likelihood.canonical();
  fit.coefficients = likelihood.coefficients();
  fit.log_likelihood = search.log_likelihood;
  fit.iterations = search.iterations;
  fit.gradient_norm = search.gradient_norm;
  fit.has_converged = search.has_converged;
  fit.ratios_at_bound = std::count_if(fit.canonical.ratios.begin(),
                                      fit.canonical.ratios.end(), is_at_largest);
  return fit;
}

}  // namespace kinflow
