// How far results of the CUDA kernels may be from float64, from what their arithmetic
// rounds.
//
// A product of K terms is taken by tensor cores in 3 K / 8 steps (tensor_products.cuh).
// After each the sum is cut off towards 0, where float32 arithmetic rounds to the
// nearest number: it loses up to 2 u of its size, always in the same direction. So
// products are off by up to 3 K / 4 u of their largest partial sums, and these errors
// do not cancel. Roundings to the nearest do: float32 numbers that are added one after
// the other are off by about 0.3 sqrt(K) u. The ratio of both is 2.5 sqrt(K). What
// cancellation inside a flow and narrow bins make of such errors is the same for both,
// and shows in the errors of the plain version.
#pragma once

#include <algorithm>
#include <cmath>

namespace kinflow {

inline constexpr double kFloatRounding = 0x1p-24;  // u

/// @param terms          of the longest sums, K
/// @param plain_error    of the plain version in float32 in the same result
inline double largest_cuda_error(double terms, double plain_error) {
  return std::max(3 * terms / 4 * kFloatRounding, 2.5 * std::sqrt(terms) * plain_error);
}

}  // namespace kinflow
