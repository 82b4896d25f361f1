// Where the parameters of a Glow flow lie in its one buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/flow/glow/glow_options.h"

namespace kinflow {

/// A matrix of parameters, row-major: a layer's weights are [inputs, outputs].
struct MatrixSlot {
  std::int64_t offset = 0, rows = 0, columns = 0;
  std::int64_t count() const { return rows * columns; }
};

/// The network of one step. `width()` is the number of channels that its end sees.
struct DenseSlots {
  std::int64_t inputs, outputs, channels, layers, growth;
  std::int64_t width() const { return channels + layers * growth; }
  /// Channels that layer `layer` sees.
  std::int64_t width_before(std::int64_t layer) const {
    return channels + layer * growth;
  }

  // The wide products, [width, width] and [width, 9 growth] (a 3 x 3 convolution: tap
  // by tap), and the gated one at the end [width(), 3 channels].
  std::vector<MatrixSlot> mixing = {}, convolution = {};
  MatrixSlot gate = {};
  MatrixSlot first = {}, last = {};  // [inputs, channels], [channels, outputs]
  // Biases follow each other: first, mixing, convolution, gate, last.
  MatrixSlot first_bias = {}, gate_bias = {}, last_bias = {};
  std::vector<MatrixSlot> mixing_bias = {}, convolution_bias = {};
  MatrixSlot biases = {};  // all of them, [1, count]
};

/// The parameters of a flow. All steps' wide products come first, so that a copy of
/// them in another precision is one range.
struct GlowLayout {
  explicit GlowLayout(const GlowOptions& options);

  std::vector<GlowScale> scales;
  std::vector<std::vector<DenseSlots>> networks;  // [scale][step]
  /// The matrices that mix channels, of a scale [steps, channels, channels]: packed
  /// triangular factors with the log of the scales on the diagonal.
  std::vector<MatrixSlot> mixing;
  /// Log scales and shifts of ActNorm, [steps, 2 channels]; empty without.
  std::vector<MatrixSlot> activation_norm;
  std::int64_t wide_count = 0;  // parameters of the wide products
  std::int64_t count = 0;       // all parameters

  /// Name and place of everything, in order of the offsets.
  struct Named {
    std::string name;
    MatrixSlot slot;
  };
  std::vector<Named> named() const;
};

}  // namespace kinflow
