// Tail probabilities of the chi-squared distribution and their inverse.
#pragma once

namespace kinflow {

/// P(X > x) for a chi-squared variable, with small relative error down to 1e-300.
/// @param degrees  of freedom, above 0 and not necessarily whole
/// InputError where `degrees` is not above 0 or not finite, or `x` is not a number.
double chi_squared_tail(double x, double degrees);
/// log P(X > x), with small relative error also where P(X > x) is too small for a
/// number. InputError as above.
double log_chi_squared_tail(double x, double degrees);

/// The x whose tail has the probability p: infinity for 0, 0 for 1. InputError where p
/// is not from 0 to 1 or `degrees` is not above 0 or not finite.
double inverse_chi_squared_tail(double p, double degrees);
/// The same of the logarithm of p, from minus infinity to 0.
double inverse_log_chi_squared_tail(double log_p, double degrees);

}  // namespace kinflow
