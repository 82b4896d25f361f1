// P-values on the scale of their logarithm, where the smallest ones stay apart.
#pragma once

#include <string>
#include <string_view>

namespace kinflow {

/// -log10 p of the natural logarithm of a p-value: 0 for p = 1, and never below.
double log10_p_of_log(double log_p);
/// -log10 p; infinity for 0.
double log10_p_of(double p);
/// The same of a p-value as text, also of one below the smallest number ("3.2e-1234").
/// @param text  a number
double log10_p_of_text(std::string_view text);
/// The p-value; 0 where it is below the smallest number, about 1e-324.
double p_of_log10(double log10_p);

/// "3.21e-12", also of p-values that are too small for a number ("3.21e-1234").
/// @param log10_p  -log10 p from 0, or NaN
std::string format_p(double log10_p);

}  // namespace kinflow
