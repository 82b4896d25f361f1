// Clusters of points by k-means.
#pragma once

#include <cstdint>

#include "kinflow/array/array.h"

namespace kinflow {

struct KMeansOptions {
  std::int64_t clusters = 20;
  std::int64_t restarts =
      3;  ///< starts, of which the one with the least spread is kept
  std::int64_t most_rounds = 100;
  std::uint64_t seed = 1;
  std::int64_t clustering = 0;  ///< the same seed gives another start for each number
};

struct KMeansResult {
  Array cluster;      ///< [n] int64 on the CPU, 0 to clusters - 1
  double spread = 0;  ///< sum of squared distances to the centres of their clusters
};

/// Lloyd's rounds from k-means++ starts, until spread falls by less than 1e-5 of
/// itself. A cluster that lost its points is moved to the point that is farthest from
/// its centre. The same points, options and device give the same clusters.
/// @param points  [n, d] finite, n at least `clusters`; computed in float32 on their
///     device
KMeansResult k_means(const Array& points, const KMeansOptions& options = {});

}  // namespace kinflow
