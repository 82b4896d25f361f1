// One invertible layer of a flow, and the parameters it exposes to an optimiser.
#pragma once

#include <functional>
#include <string>

#include "kinflow/array/array.h"

namespace kinflow {

/// Result of mapping data to latents. Shapes: [R, b, p] and [R, b].
struct LatentResult {
  Array latents;
  Array log_abs_det;  ///< log |det d latents / d data| of every row
};

/// Result of an element-wise monotone map: values and the logs of the slopes, one
/// shape.
struct ElementwiseResult {
  Array values;
  Array log_slopes;
};

/// A learned array of a layer.
struct LayerParameter {
  std::string name;
  Array& tensor;       ///< the layer's own, [R, ...]
  bool decays = true;  ///< whether weight decay applies
};
using ParameterVisitor = std::function<void(const LayerParameter& parameter)>;

/// An invertible map of rows with a leading replica axis R. Data and latents are
/// [R, b, p]; context is [R, b, c], or undefined where the flow has none.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual LatentResult to_latent(const Array& data, const Array& context) const = 0;
  virtual Array from_latent(const Array& latents, const Array& context) const = 0;
  /// Hands out every learned array, always in the same order.
  virtual void visit_parameters(const ParameterVisitor& visit) = 0;
};

}  // namespace kinflow
