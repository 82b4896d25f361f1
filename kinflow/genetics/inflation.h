// Genomic inflation: by how much test statistics exceed what chance gives.
#pragma once

#include <span>

namespace kinflow {

/// The median of the chi-squared statistics over the median of their distribution: 1
/// where the p-values are uniform. NaN where there is no p-value.
/// @param log10_p  -log10 of p-values, from 0, else InputError; NaN is left out
/// @param degrees  of freedom of the test: the number of traits tested jointly
double genomic_inflation(std::span<const double> log10_p, double degrees = 1);

}  // namespace kinflow
