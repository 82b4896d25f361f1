// The learned matrices that mix the channels of a Glow flow, all of a scale at once.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"

namespace kinflow {

/// The maps x -> x matrix + offset of the channels of S steps, with ActNorm in them.
struct ChannelMaps {
  Array matrix;       ///< [S, c, c]
  Array offset;       ///< [S, c]; undefined without ActNorm
  Array log_abs_det;  ///< [S], of one pixel
};

/// A matrix is P L (U + diag(sign exp(s))) with a fixed permutation P and fixed signs;
/// the strict triangles L and U and the log scales s are learned, packed in one square.
/// ActNorm multiplies channel i by exp(a_i) after adding b_i.
class ChannelMixing {
 public:
  /// Random orthogonal matrices. @param packed [S, c, c], gets the learned numbers
  ChannelMixing(const Array& packed, std::uint64_t seed, std::int64_t scale);

  /// @param activation_norm [S, 2 c]: all a, then all b; or undefined
  ChannelMaps maps(const Array& packed, const Array& activation_norm) const;

  /// Gradient in the learned numbers from that in the maps.
  /// @param log_abs_det_slope  of each map's log-determinant
  void backward(const Array& packed, const Array& activation_norm,
                const Array& matrix_slopes, const Array& offset_slopes,
                double log_abs_det_slope, Array packed_gradient,
                Array activation_norm_gradient) const;

  /// What is fixed, [S, c + 1, c]: the permutation matrix, then the signs.
  Array fixed() const;
  void set_fixed(const Array& fixed);

 private:
  struct Factors;
  Factors factors(const Array& packed) const;

  Array permutation_;  // [S, c, c]
  Array signs_;        // [S, c]
};

}  // namespace kinflow
