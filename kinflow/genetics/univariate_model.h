// The mixed model of one trait: a search along the ratio of its two variances.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kinflow/genetics/mixed_model_data.h"
#include "kinflow/genetics/variance_likelihood.h"

namespace kinflow {

/// The model at one ratio of genetic to residual variance, the scale and the
/// coefficients of the covariates profiled out. With W = diag(1 / (ratio D + 1)),
/// P = W - W X (X'WX)^-1 X'W.
struct RatioPlace {
  double ratio = 0;
  std::vector<double> weights;           ///< [rows] of W
  std::vector<double> basis;             ///< Z [rows x covariates] with P = W - Z Z'
  std::vector<double> residuals;         ///< P y [rows]
  std::vector<double> scaled_residuals;  ///< D P y [rows]
  double quadratic = 0;                  ///< y'P y
  double log_det_information = 0;        ///< log det X'WX
  double trace = 0;                      ///< tr(P D), or tr(W D) where the kind is full
  double quadratic_slope = 0;            ///< y'P D P y
};

/// One trait and its covariates. Threads may use it at the same time.
class UnivariateModel {
 public:
  /// @param data  of one trait; its numbers must stay where they are
  UnivariateModel(const MixedModelData& data, LikelihoodKind kind);

  void go_to(double ratio, RatioPlace& place) const;
  /// The logarithm of the likelihood, and its slope in the logarithm of the ratio.
  double log_likelihood(const RatioPlace& place) const;
  double slope(const RatioPlace& place) const;
  /// n, or n less the covariates where the kind is restricted.
  double degrees() const;

  const MixedModelData& data() const { return data_; }
  LikelihoodKind kind() const { return kind_; }

 private:
  const MixedModelData& data_;
  LikelihoodKind kind_;
  double log_det_design_ = 0;
};

/// Logarithms of the ratios between which maxima are looked for: 11 from
/// kSmallestRatio to kLargestRatio.
const std::vector<double>& ratio_grid();

/// The logarithm of the ratio at the largest maximum of a likelihood: a root of its
/// slope between neighbours of ratio_grid(), or an end of it. NumericalError where
/// slopes are NaN, so that there is none.
/// @param slopes     at the points of the grid
/// @param guess      of the result
/// @param curvature  a guess of the slope of the slope there; below 0, or NaN
double best_log_ratio(const std::vector<double>& slopes,
                      const std::function<double(double)>& slope,
                      const std::function<double(double)>& log_likelihood, double guess,
                      double curvature);

struct UnivariateFit {
  double ratio = 0;
  double genetic = 0, residual = 0;  ///< variances
  double log_likelihood = 0;
  double slope = 0;  ///< in the logarithm of the ratio; away from 0 at an end of it
  int evaluations = 0;
};

UnivariateFit fit_univariate(const UnivariateModel& model);

}  // namespace kinflow
