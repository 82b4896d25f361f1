// The null model of association tests: the variances of traits of related rows.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/genetics/mixed_model_data.h"
#include "kinflow/genetics/variance_likelihood.h"

namespace kinflow {

struct MixedModelOptions {
  int iterations = 500;
  /// The search has converged where a step promises less of the logarithm of the
  /// likelihood.
  double least_gain = 1e-12;
};

/// The most likely variances and coefficients.
struct MixedModelFit {
  LikelihoodKind kind = LikelihoodKind::restricted;
  TraitVariances variances;          ///< Vg may be singular, Ve is positive definite
  CanonicalTraits canonical;         ///< the same in canonical traits
  std::vector<double> coefficients;  ///< A [covariates x traits], column-major
  double log_likelihood = 0;
  int iterations = 0;
  /// Of the gradient among semidefinite Vg, in standard errors of the variances.
  double gradient_norm = 0;
  bool has_converged = false;
  /// Canonical traits whose ratio of variances ended at kLargestRatio: there Ve is as
  /// good as singular.
  std::int64_t ratios_at_bound = 0;
};

/// The variances by Fisher scoring from the fits of single traits: every step is
/// O(rows traits^2), raises the likelihood, and where scoring finds no such step the EM
/// algorithm does. One trait is a search along its ratio of variances between
/// kSmallestRatio and kLargestRatio.
MixedModelFit fit_mixed_model(const MixedModelData& data, LikelihoodKind kind,
                              const MixedModelOptions& options = {});

/// The same from given variances, where the likelihood (and its SNP) is at hand.
/// @param variances  start and result; Ve positive definite
struct VarianceSearch {
  double log_likelihood = 0;
  int iterations = 0;
  double gradient_norm = 0;
  bool has_converged = false;
};
VarianceSearch maximize(VarianceLikelihood& likelihood, TraitVariances& variances,
                        const MixedModelOptions& options);

}  // namespace kinflow
