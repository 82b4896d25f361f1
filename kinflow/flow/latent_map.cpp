// Triangular products and solutions.
#include "kinflow/flow/latent_map.h"

#include <tuple>

#include "kinflow/array/array.h"

namespace kinflow {

LatentMap::LatentMap(std::int64_t replicas, std::int64_t dimension)
    : factors_(nd::zeros({replicas, dimension, dimension}, nd::kDouble)) {}

Array LatentMap::lower() const {
  return factors_.tril(-1) + nd::eye(factors_.size(1), factors_.options());
}

Array LatentMap::upper() const {
  return factors_.triu(1) + nd::diag_embed(factors_.diagonal(0, 1, 2).exp());
}

LatentResult LatentMap::to_latent(const Array& data, const Array& /*context*/) const {
  return {.latents = nd::matmul(nd::matmul(data, upper().mT()), lower().mT()),
          .log_abs_det =
              factors_.diagonal(0, 1, 2).sum(-1, true).expand({-1, data.size(1)})};
}

Array LatentMap::from_latent(const Array& latents, const Array& /*context*/) const {
  return nd::linalg_solve_triangular(
             upper(), nd::linalg_solve_triangular(lower(), latents.mT(), false), true)
      .mT();
}

void LatentMap::visit_parameters(const ParameterVisitor& visit) {
  visit({.name = "factors", .tensor = factors_, .decays = false});
}

Array latent_map_factors(const Array& map) {
  // map = P L U, and P' map is the map with its rows in another order.
  const auto [permutation, lower, upper] = nd::linalg_lu(map);
  const auto sign = upper.diagonal().sign();
  // D P' map = (D L D)(D U) for signs D that make the diagonal of D U positive.
  const auto signed_lower = sign.unsqueeze(1) * lower * sign.unsqueeze(0);
  const auto signed_upper = sign.unsqueeze(1) * upper;
  return signed_lower.tril(-1) + signed_upper.triu(1) +
         nd::diag(signed_upper.diagonal().log());
}

}  // namespace kinflow
