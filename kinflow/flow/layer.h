// One invertible layer of a flow, and the parameters it exposes to an optimiser.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace kinflow {

/// Result of mapping data to latents. Shapes: [R, b, p] and [R, b].
struct LatentResult {
  at::Tensor latents;
  at::Tensor log_abs_det;  ///< log |det d latents / d data| of every row
};

/// Result of an element-wise monotone map: values and the logs of the slopes, one
/// shape.
struct ElementwiseResult {
  at::Tensor values;
  at::Tensor log_slopes;
};

/// A learned tensor of a layer.
struct LayerParameter {
  std::string name;
  at::Tensor& tensor;  ///< the layer's own, [R, ...]
  bool decays = true;  ///< whether weight decay applies
};
using ParameterVisitor = std::function<void(const LayerParameter& parameter)>;

/// An invertible map of rows with a leading replica axis R. Data and latents are
/// [R, b, p]; context is [R, b, c], or undefined where the flow has none.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual LatentResult to_latent(const at::Tensor& data,
                                 const at::Tensor& context) const = 0;
  virtual at::Tensor from_latent(const at::Tensor& latents,
                                 const at::Tensor& context) const = 0;
  /// Hands out every learned tensor, always in the same order.
  virtual void visit_parameters(const ParameterVisitor& visit) = 0;
};

}  // namespace kinflow
