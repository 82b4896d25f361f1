// Tail probabilities of the chi-square distribution.
#pragma once

namespace kinflow {

/// P(X > x) for the chi-square distribution with a whole number of degrees of freedom,
/// to 12 digits down to 1e-300. InputError where `degrees` is below 1 or `x` is not a
/// number; 1 where x is not above 0.
double chi_square_tail(double x, int degrees);

}  // namespace kinflow
