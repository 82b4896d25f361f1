// Architecture of a flow, as a user chooses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kinflow {

enum class FlowKind { spline, affine };
enum class Permutation { alternating, random };

/// A bin's share of the domain is at least 1e-3, so there cannot be many.
inline constexpr std::int64_t kMaximumSplineBins = 500;

/// Architecture of a flow. Everything is in standardised units.
struct FlowOptions {
  FlowKind kind = FlowKind::spline;
  std::int64_t dimension = 0;  ///< p, columns of the data
  std::int64_t context = 0;    ///< columns of the context
  std::int64_t layers = 3;
  std::vector<std::int64_t> hidden = {64, 64};  ///< widths of the conditioner networks
  std::int64_t bins = 16;                       ///< of the splines
  double bound = 5;  ///< splines act on [-bound, bound] and are the identity outside
  Permutation permutation = Permutation::alternating;
  std::uint64_t permutation_seed = 0;  ///< for random permutations
  /// A linear map of all columns at the end, for latents that differ in their
  /// dependence.
  bool latent_map = false;
};

/// The least share of rows with one value that makes a column too discrete for a flow:
/// 0.1, or 1.6 / B where a spline of B bins finds finer steps. Both are measured, see
/// docs/model.md.
inline double least_tied_share(const FlowOptions& flow) {
  constexpr double kLeastShare = 0.1, kShareTimesBins = 1.6;
  return flow.kind == FlowKind::spline
             ? std::min(kLeastShare, kShareTimesBins / static_cast<double>(flow.bins))
             : kLeastShare;
}

}  // namespace kinflow
