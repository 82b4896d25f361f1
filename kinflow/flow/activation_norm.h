// ActNorm: a learned scale and shift per column that start from the first data seen.
#pragma once

#include <cstdint>

#include "kinflow/flow/layer.h"

namespace kinflow {

/// latents = exp(log_scale) * data + shift, column by column.
class ActivationNorm final : public Layer {
 public:
  ActivationNorm(std::int64_t replicas, std::int64_t dimension);
  LatentResult to_latent(const at::Tensor& data,
                         const at::Tensor& context) const override;
  at::Tensor from_latent(const at::Tensor& latents,
                         const at::Tensor& context) const override;
  void visit_parameters(const ParameterVisitor& visit) override;
  /// After this the columns of `data` have mean 0 and standard deviation 1.
  void initialize_from(const at::Tensor& data) override;

 private:
  at::Tensor log_scale_;  // [R, 1, p]
  at::Tensor shift_;      // [R, 1, p]
};

}  // namespace kinflow
