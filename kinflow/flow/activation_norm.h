// ActNorm: a learned scale and shift per column.
#pragma once

#include <cstdint>

#include "kinflow/flow/layer.h"

namespace kinflow {

/// latents = exp(log_scale) * data + shift, column by column. It starts as the
/// identity: a model standardises its data, and new coupling layers change nothing.
class ActivationNorm final : public Layer {
 public:
  ActivationNorm(std::int64_t replicas, std::int64_t dimension);
  LatentResult to_latent(const at::Tensor& data,
                         const at::Tensor& context) const override;
  at::Tensor from_latent(const at::Tensor& latents,
                         const at::Tensor& context) const override;
  void visit_parameters(const ParameterVisitor& visit) override;

 private:
  at::Tensor log_scale_;  // [R, 1, p]
  at::Tensor shift_;      // [R, 1, p]
};

}  // namespace kinflow
