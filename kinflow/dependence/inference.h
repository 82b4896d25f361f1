// What latents say about the parameters of a dependence: standard errors, intervals,
// a test of independence. All of it takes the latents, and so the flow, as given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

struct Interval {
  double low;
  double high;
};

/// The likelihood ratio of a dependence against independent rows.
struct IndependenceTest {
  double statistic;    ///< 2 (log-likelihood - log-likelihood of independent rows)
  std::int64_t edges;  ///< parameters at an end of their range under independence
  double log10_p;      ///< -log10 of the p-value
};

/// Where there are no standard errors, or no test, a text says why; it is empty
/// otherwise. Numbers that do not exist are NaN; arrays that could not be computed are
/// not defined.
struct DependenceInference {
  Array estimate;        ///< [k] float64 on the CPU, most likely without a prior
  Array standard_error;  ///< [k]; NaN within 1e-6 of an end of the range
  Array low;             ///< [k], 95% interval from the standard error
  Array high;            ///< [k]
  /// 95% profile-likelihood interval of lambda or of one correlation of all blocks. It
  /// ends at 0 or 1 where the likelihood does not come down before. Nothing where the
  /// likelihood cannot be computed on the way.
  std::optional<Interval> profile;
  double log_likelihood = 0;  ///< of the latents, at the estimate
  std::optional<IndependenceTest> test;
  std::string why_no_errors;
  std::string why_no_test;
};

struct InferenceOptions {
  /// Latents have mean 0 and variance 1 in the population. Those of a flow have the
  /// location and the scale that its training found: false, and the most likely ones
  /// are taken for every value of the parameters. Taking them as known makes errors of
  /// a correlation too small by a third.
  bool location_and_scale_are_known = true;
};

/// Estimates the parameters of latents and says how well they are known.
///
/// Standard errors come from the observed information on the unbounded scale, by
/// central differences of the exact gradient, and are brought to the natural scale by
/// the delta method; intervals are symmetric on the unbounded scale, or, for weights
/// that have the sum 1, on that of each weight's logit. The cost is that of
/// most_likely(), two gradients for each parameter (two in all where they are
/// separate), and some 20 evaluations of the objective. More than 50 parameters that
/// are not separate get nothing.
///
/// The test of blocks is made with one correlation for all of them.
/// @param latents [n, p]  @param start [k], see Dependence::most_likely()
DependenceInference infer(const Dependence& law, const Array& latents,
                          const Array& start, const InferenceOptions& options = {});

/// -log10 P(statistic >= x) where independence puts `edges` parameters at an end of
/// their range: the mean of the chi-squared tails with edges - 1 and edges degrees of
/// freedom. Exact for many rows and one parameter, an upper bound of the
/// probability for more; 0 at x = 0.
double independence_log10_p(double x, std::int64_t edges);

}  // namespace kinflow
