// Tail probabilities of Student's t distribution.
#pragma once

namespace kinflow {

/// P(T > t) for Student's t distribution, to 13 digits where it is above 1e-40, and 12
/// below.
/// @param degrees  of freedom, above 0 and not necessarily whole; infinity gives the
///                 normal distribution
/// InputError where `degrees` is not above 0 or `t` is not a number.
double student_t_tail(double t, double degrees);

/// log P(|T| > |t|), with a relative error below 1e-12 where it is below -1e-3, also
/// where the probability is too small for a number. InputError as above.
double log_two_sided_student_t_tail(double t, double degrees);

}  // namespace kinflow
