// Between-block and within-block covariances.
#include "kinflow/train/latent_map_start.h"

#include <ATen/ATen.h>

#include "kinflow/dependence/per_latent.h"

namespace kinflow {

at::Tensor latent_map_start(const Dependence& law, const at::Tensor& rows,
                            const at::Tensor& worth) {
  const auto identity = at::eye(rows.size(1), at::kDouble);
  const auto* blocks = blocks_of(law);
  if (blocks == nullptr) return identity;
  const auto weights = worth.clamp_min(0).unsqueeze(1);
  const auto block_of_row = blocks->block_of_row().cpu();
  const auto sizes = blocks->sizes().cpu().to(at::kDouble).unsqueeze(1);
  const auto sum_by_block = [&](const at::Tensor& of_rows) {
    return at::zeros({sizes.size(0), of_rows.size(1)}, at::kDouble)
        .index_add_(0, block_of_row, of_rows);
  };
  const auto means = sum_by_block(rows) / sizes;
  const auto inside = rows - means.index_select(0, block_of_row);
  // Of m rows m - 1 differences from their mean are free.
  const auto free = (weights * (1 - 1 / sizes.index_select(0, block_of_row))).sum();
  if (!free.gt(0).item<bool>()) return identity;
  const auto within = at::mm(inside.t(), weights * inside) / free;
  const auto centred = rows - (weights * rows).sum(0) / weights.sum();
  const auto whole = at::mm(centred.t(), weights * centred) / weights.sum();
  const auto [factor, failed] = at::linalg_cholesky_ex(whole);
  if (failed.item<int>() != 0) return identity;
  const auto whiten = at::linalg_solve_triangular(factor, identity, /*upper=*/false);
  const auto [shares, vectors] =
      at::linalg_eigh(at::mm(whiten, at::mm(within, whiten.t())));
  return at::mm(vectors.t(), whiten);
}

}  // namespace kinflow
