// Between-block and within-block covariances.
#include "kinflow/engine/latent_map_start.h"

#include "kinflow/array/array.h"
#include "kinflow/dependence/per_latent.h"

namespace kinflow {

Array latent_map_start(const Dependence& law, const Array& rows, const Array& worth) {
  const auto identity = nd::eye(rows.size(1), nd::kDouble);
  const auto* blocks = blocks_of(law);
  if (blocks == nullptr) return identity;
  const auto weights = worth.clamp_min(0).unsqueeze(1);
  const auto block_of_row = blocks->block_of_row().cpu();
  const auto sizes = blocks->sizes().cpu().to(nd::kDouble).unsqueeze(1);
  const auto sum_by_block = [&](const Array& of_rows) {
    return nd::zeros({sizes.size(0), of_rows.size(1)}, nd::kDouble)
        .index_add_(0, block_of_row, of_rows);
  };
  const auto means = sum_by_block(rows) / sizes;
  const auto inside = rows - means.index_select(0, block_of_row);
  // Of m rows m - 1 differences from their mean are free.
  const auto free = (weights * (1 - 1 / sizes.index_select(0, block_of_row))).sum();
  if (!free.gt(0).item<bool>()) return identity;
  const auto within = nd::mm(inside.t(), weights * inside) / free;
  const auto centred = rows - (weights * rows).sum(0) / weights.sum();
  const auto whole = nd::mm(centred.t(), weights * centred) / weights.sum();
  const auto [factor, failed] = nd::linalg_cholesky_ex(whole);
  if (failed.item<int>() != 0) return identity;
  const auto whiten = nd::linalg_solve_triangular(factor, identity, /*upper=*/false);
  const auto [shares, vectors] =
      nd::linalg_eigh(nd::mm(whiten, nd::mm(within, whiten.t())));
  return nd::mm(vectors.t(), whiten);
}

}  // namespace kinflow
