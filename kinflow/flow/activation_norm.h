// ActNorm: a learned scale and shift per column.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// latents = exp(log_scale) * data + shift, column by column. It starts as the
/// identity: a model standardises its data, and new coupling layers change nothing.
class ActivationNorm final : public Layer {
 public:
  ActivationNorm(std::int64_t replicas, std::int64_t dimension);
  LatentResult to_latent(const Array& data, const Array& context) const override;
  Array from_latent(const Array& latents, const Array& context) const override;
  void visit_parameters(const ParameterVisitor& visit) override;

 private:
  Array log_scale_;  // [R, 1, p]
  Array shift_;      // [R, 1, p]
};

}  // namespace kinflow
