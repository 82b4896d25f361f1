// A learned linear map of all columns at the end of a flow.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/flow/layer.h"

namespace kinflow {

/// latents = W data, row by row, with W = L U. L is lower triangular with a diagonal of
/// 1, U upper triangular with the diagonal exp(s), so that log |det W| is the sum of s
/// and no matrix is inverted on the way. All are learned, as one matrix [p, p] that has
/// s on its diagonal. It starts as the identity.
class LatentMap final : public Layer {
 public:
  LatentMap(std::int64_t replicas, std::int64_t dimension);
  LatentResult to_latent(const Array& data, const Array& context) const override;
  Array from_latent(const Array& latents, const Array& context) const override;
  void visit_parameters(const ParameterVisitor& visit) override;

 private:
  Array lower() const;
  Array upper() const;

  Array factors_;  // [R, p, p]
};

/// The learned matrix of a map whose rows are those of `map` [p, p] in some order, each
/// with some sign: what a pivoted decomposition gives. Latents have no order and no
/// sign, so it needs none of the two.
Array latent_map_factors(const Array& map);

}  // namespace kinflow
