// The likelihood of the variances of a mixed model, its gradient and the steps that
// climb it. In canonical traits, in which Ve is the identity and Vg is diagonal, all of
// it are sums over rows and pairs of traits.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/genetics/mixed_model_data.h"

namespace kinflow {

/// REML integrates the coefficients of the covariates out, ML takes the best ones.
enum class LikelihoodKind { restricted, full };

/// Vg and Ve, [traits x traits], symmetric.
struct TraitVariances {
  std::vector<double> genetic;
  std::vector<double> residual;
};

/// T with T Ve T' = I and T Vg T' = diag(ratios).
struct CanonicalTraits {
  std::int64_t traits = 0;
  std::vector<double> ratios;         ///< [traits] ascending, none below 0
  std::vector<double> to;             ///< T, column-major
  std::vector<double> back;           ///< the inverse of T
  double log_det_residual = 0;        ///< log det Ve
  bool is_residual_positive = false;  ///< false: Ve is not positive definite, the rest
                                      ///< is not filled
};

/// Ratios below 1e-9 / `largest_eigenvalue` become 0; the likelihood cannot tell them
/// from it. Those above kLargestRatio are cut.
CanonicalTraits make_canonical(const TraitVariances& variances, std::int64_t traits,
                               double largest_eigenvalue);

/// The search of ratios of genetic to residual variance, as GEMMA's.
inline constexpr double kSmallestRatio = 1e-5;
inline constexpr double kLargestRatio = 1e5;

/// The variances behind canonical traits.
TraitVariances variances_of(const CanonicalTraits& canonical);

/// With dl = tr(genetic dVg) + tr(residual dVe) in canonical traits; symmetric.
struct VarianceGradient {
  std::vector<double> genetic, residual;
};

/// A step of Fisher scoring. Vg is L diag(ratios) L' with L = I at the place, the
/// largest ratio eliminated first, so that it stays semidefinite as long as no ratio
/// falls below 0.
struct ScoringStep {
  /// Turns canonical traits without genetic variance, whose basis is free, so that the
  /// gradient of their variances is diagonal. All below is in turned traits.
  std::vector<double> turn;
  std::vector<double> genetic, residual;  ///< changes of Vg and Ve to first order
  double predicted_gain = 0;              ///< in the likelihood, of a step of length 1
};

/// The place at so much of a step; Vg stays semidefinite and Ve positive definite.
TraitVariances after(const CanonicalTraits& from, const ScoringStep& step,
                     double length);

/// The place after one step of the EM algorithm for REML: never lower, never outside.
TraitVariances em_step(const CanonicalTraits& from, const VarianceGradient& gradient,
                       std::int64_t rows);

/// The sum of -log(weight), with few logarithms; weights in (0, 1].
double log_of_inverses(const double* weights, std::int64_t count);

/// One place of the likelihood.
class VarianceLikelihood {
 public:
  /// The numbers of `data` must stay where they are.
  VarianceLikelihood(const MixedModelData& data, LikelihoodKind kind);

  /// Puts a SNP [rows], rotated, behind the covariates; null takes it away.
  void set_snp(const double* snp);

  /// Goes to these variances. Returns the logarithm of the likelihood, or minus
  /// infinity where Ve is not positive definite.
  double go_to(const TraitVariances& variances);

  std::int64_t rows() const { return rows_; }
  const CanonicalTraits& canonical() const { return canonical_; }
  TraitVariances variances() const { return variances_of(canonical_); }

  VarianceGradient gradient() const;
  ScoringStep scoring_step(const VarianceGradient& gradient) const;

  /// Coefficients of the covariates (and of the SNP, last), [covariates x traits], of
  /// the traits as they came; the best ones at this place.
  std::vector<double> coefficients() const;

  /// Of the SNP, at this place: canonical effects and the inverses of their variances,
  /// both [traits].
  struct SnpEffect {
    std::vector<double> effects, precisions;
  };
  SnpEffect snp_effect() const;

 private:
  void fit_trait(std::int64_t trait);
  double leverage();

  const MixedModelData& data_;
  LikelihoodKind kind_;
  std::int64_t rows_, traits_, covariates_;
  double largest_eigenvalue_;
  double log_det_design_ = 0;
  std::vector<double> design_;  ///< covariates and the SNP, [rows x covariates]
  std::vector<double> root_eigenvalues_;
  CanonicalTraits canonical_;
  std::vector<double> canonical_values_;        ///< Y T', [rows x traits]
  std::vector<double> weights_;                 ///< 1 / (eigenvalue ratio + 1)
  std::vector<double> weighted_residuals_;      ///< [rows x traits]
  std::vector<double> weighted_design_;         ///< scratch, [rows x covariates]
  std::vector<double> canonical_coefficients_;  ///< [covariates x traits]
  std::vector<double> factors_;  ///< Cholesky factors of X'WX, one for each trait
  std::vector<double> inverse_, squares_;  ///< scratch, [covariates x covariates]
  std::vector<double> genetic_leverage_, residual_leverage_;  ///< [traits]
  double log_det_information_ = 0, quadratic_ = 0, log_det_rows_ = 0;
};

}  // namespace kinflow
