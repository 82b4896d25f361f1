// Numbers that all versions of the rational-quadratic spline share.
#pragma once

#include <cstdint>

namespace kinflow {

/// A spline with K bins has 3K - 1 unconstrained parameters: K widths, K heights and
/// the K - 1 interior slopes. The slopes at both ends are 1, so the tails are the
/// identity.
constexpr std::int64_t spline_parameter_count(std::int64_t bins) {
  return 3 * bins - 1;
}

/// Smallest width and height of a bin, as a share of the domain, and smallest slope.
inline constexpr double kSplineMinimum = 1e-3;

/// With this offset a parameter of 0 gives the slope 1: softplus(offset) = 1 - minimum.
inline constexpr double kSlopeOffset = 0.539742417236952;

}  // namespace kinflow
