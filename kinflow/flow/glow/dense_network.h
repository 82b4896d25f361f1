// The network of a Glow coupling: a gated dense block of convolutions.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/flow/glow/glow_kernels.h"
#include "kinflow/flow/glow/glow_layout.h"

namespace kinflow {

/// Parameters of one network, or their gradient, as views of buffers.
struct DenseParameters {
  /// @param wide  buffer of the wide products  @param all  buffer of all parameters
  DenseParameters(const DenseSlots& slots, const Array& wide, const Array& all);

  DenseSlots slots;
  std::vector<Array> mixing, convolution;
  Array gate, first, last;
  Array first_bias, gate_bias, last_bias, biases;
  std::vector<Array> mixing_bias, convolution_bias;
};

/// What backward() needs of forward(); the arrays are used again by every call.
struct DenseActivations {
  /// @param like  an array of the type of the wide products
  /// @param keeps_hidden  false: hidden layers share one buffer; for forward() alone
  DenseActivations(const DenseSlots& slots, std::int64_t pixels, const Array& like,
                   bool keeps_hidden);

  Array features;             ///< [pixels, width], what all layers have made
  std::vector<Array> hidden;  ///< [pixels, width_before(layer)]
  Array gates;                ///< [pixels, 3 channels]
  Array summary;              ///< [pixels, channels], of the biases' type
};

/// Room for intermediate results, shared by the networks of one shape.
struct DenseWorkspace {
  DenseWorkspace(const DenseSlots& slots, std::int64_t pixels, const Array& like,
                 bool for_backward);

  Array taps;  ///< [pixels, 9 growth]
  // For backward():
  Array feature_slopes, gate_slopes, hidden_slopes;
  Array sums;  ///< [parts, biases]
};

/// Scales and shifts [pixels, outputs] from channels [pixels, inputs].
///
///     features = first(input)
///     for each layer: features = [features, relu(conv3x3(relu(mixing(features))))]
///     a, b, c  = gate(features)
///     result   = last(first(input) + a + b sigmoid(c))
///
/// The 3 x 3 convolutions are one product for all taps, whose results are gathered from
/// the neighbours.
Array dense_forward(const DenseParameters& parameters, const PixelGrid& grid,
                    const Array& input, DenseActivations& activations,
                    DenseWorkspace& workspace);

/// Slopes of the input; writes the gradient of the parameters.
Array dense_backward(const DenseParameters& parameters, const PixelGrid& grid,
                     const Array& input, const Array& result_slopes,
                     const DenseActivations& activations, DenseWorkspace& workspace,
                     DenseParameters& gradient);

}  // namespace kinflow
