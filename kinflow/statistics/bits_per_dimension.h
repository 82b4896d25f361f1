// From log densities in nats to bits per dimension.
#pragma once

#include <cstdint>
#include <numbers>

namespace kinflow {

/// Bits that a density needs for each value, on average. For images whose values were
/// dequantised, the density must be one in units of their levels (values from 0 to 256
/// for 8 bits): then it bounds the bits of a lossless code, and a uniform law on 8-bit
/// images has 8.
/// @param dimensions  of one row, e.g. channels x height x width
inline double bits_per_dimension(double mean_log_density_nats,
                                 std::int64_t dimensions) {
  return -mean_log_density_nats / std::numbers::ln2 / static_cast<double>(dimensions);
}

}  // namespace kinflow
