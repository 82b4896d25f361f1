// Location and scale of latents that no training has fixed, and the parameters of a
// dependence beside them.
#pragma once

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {

/// Column j of the latents is mean_j + deviation_j times a column with covariance C.
struct Placement {
  Array mean;       ///< [R, p] float64
  Array deviation;  ///< [R, p] float64
};

/// The most likely location (by generalised least squares) and scale of latents.
/// @param parameters [R, k]  @param latents [R, n, p]
Placement place(const Dependence& law, const Array& parameters, const Array& latents);

/// Latents with that location and scale taken out, [R, n, p] float64.
Array standardized(const Array& latents, const Placement& placement);

/// Whether parameters can be found together with an unknown location and scale: many
/// parameters leave little doubt of the scale, and costly ones bear no turns.
bool can_be_placed(const Dependence& law);

/// Dependence::most_likely() together with the most likely location and scale. Where
/// rows have much in common their spread around each other is that of the population
/// less what they share, and a fixed scale turns what is missing into independence.
/// @param latents [R, n, p]  @param start [R, k]
Array most_likely_placed(const Dependence& law, const Array& latents,
                         const Array& start, double prior);

}  // namespace kinflow
