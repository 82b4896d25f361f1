// The most likely value of one parameter in (0, 1), from the whole likelihood curve.
#pragma once

#include <functional>
#include <vector>

namespace kinflow {

/// A curve at one point.
struct CurvePoint {
  double value;
  double slope;
};

/// Where a smooth curve on [1e-9, 1 - 1e-9] is smallest. A coarse grid on the scale of
/// the logit finds the lowest valley; there the slope's change of sign is enclosed to
/// the last digits, or a golden section does where the slope does not change sign.
/// About 80 evaluations.
double minimize_on_unit_interval(const std::function<CurvePoint(double)>& curve);

/// The same for a likelihood curve plus `prior` times minus the logarithm of a Beta(2,
/// 2) density, the prior of Dependence for a parameter in (0, 1).
double most_likely_share(const std::function<CurvePoint(double)>& curve, double prior);

/// A direction in which C = lambda I + (1 - lambda) G has the eigenvalue
/// lambda + (1 - lambda) `eigenvalue`, together with all others that have the same.
struct SpectralTerm {
  double eigenvalue;      ///< of G
  double count;           ///< of directions
  double sum_of_squares;  ///< of the latents in these directions, over all columns
};

/// The objective of Dependence at lambda, and its slope.
CurvePoint spectral_objective(const std::vector<SpectralTerm>& terms, double columns,
                              double lambda);

/// The lambda that makes latents of so many columns most likely; with a prior as in
/// most_likely_share().
double most_likely_lambda(const std::vector<SpectralTerm>& terms, double columns,
                          double prior);

}  // namespace kinflow
