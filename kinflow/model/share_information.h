// How well latents determine what they share: the information about the covariances of
// their shared and own parts.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/dependence/dependence.h"
#include "kinflow/model/learned_dependence.h"

namespace kinflow {

/// The shares of latents that are their own, at 0, and that rows have in common in each
/// way in which they depend: [1 + r][p]. Of blocks it is the typical correlation.
std::vector<std::vector<double>> shares_of_latents(const LearnedDependence& learned,
                                                   std::int64_t columns);

/// The covariance of columns j and l of the latents is W_jl I + sum over r of B^r_jl
/// G_r, which for j != l is 0 in a fitted model. Here all W_jl and B^r_jl are free,
/// whatever parameters the model has: the expected information about them is that of a
/// multivariate random-effects model, tr(C_j^-1 M C_l^-1 N), and half of it for j = l,
/// with M and N each of I and the G_r. [p, p, 1 + r, 1 + r] float64 on the CPU.
///
/// Latents of a sum, and those whose C is costly, are treated alike.
/// @param law      of the training rows, on the device
/// @param learned  of blocks, relationship, time or sum
Array share_information(const Dependence& law, const LearnedDependence& learned,
                        std::int64_t columns, nd::Device device);

}  // namespace kinflow
