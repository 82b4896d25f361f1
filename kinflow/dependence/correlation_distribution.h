// How correlations differ between latents and between blocks, and how well that
// predicts blocks that nothing was learned from.
#pragma once

#include <cstdint>
#include <vector>

namespace kinflow {

/// What the likelihood of correlations takes of the latents of blocks with at least two
/// rows, of p columns each.
struct BlockSums {
  std::int64_t columns = 0;
  std::vector<double> rows;    ///< [B]
  std::vector<double> along;   ///< [B * p] (sum of u)^2 / rows
  std::vector<double> across;  ///< [B * p] the rest of the sum of u^2

  std::size_t blocks() const { return rows.size(); }
};

/// The sums of latents [n][p], in the order of the blocks.
/// @param block_of_row  [n]; rows of negative numbers are left out
BlockSums sum_by_block(const double* latents, std::int64_t columns,
                       const std::vector<std::int64_t>& block_of_row);

/// logit rho of a block in column j is of_latent[j] + deviation_of_blocks * z, with one
/// standard normal z for each block.
struct CorrelationDistribution {
  std::vector<double> of_latent;
  double deviation_of_blocks = 0;
};

struct CorrelationDifferences {
  bool between_latents = false;
  bool between_blocks = false;
};

/// The most likely distribution with these differences and no others.
CorrelationDistribution most_likely_distribution(const BlockSums& sums,
                                                 const CorrelationDifferences& has);

/// log-densities in nats of the latents of blocks of which nothing else is known, [B].
std::vector<double> log_densities(const BlockSums& sums,
                                  const CorrelationDistribution& distribution);

}  // namespace kinflow
