// Learned correlations of blocks beside the true ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/simulate.h"
#include "kinflow/model/learned_dependence.h"

namespace kinflow {

/// The blocks of at least two rows: the others have no correlation.
struct RepeatedBlocks {
  std::vector<std::string> labels;
  std::vector<std::int64_t> sizes;
  std::vector<double> correlations;
};
RepeatedBlocks repeated_blocks(const Simulation& simulation);

/// The correlation of each block, 0 where none was learned.
std::vector<double> correlations_of(const LearnedDependence& learned,
                                    const std::vector<std::string>& labels);

/// Means over blocks, each counted once.
struct CorrelationError {
  double mean_squared = 0;
  double mean_absolute = 0;
};
/// 0 where there are no blocks.
CorrelationError correlation_error(const std::vector<double>& learned,
                                   const std::vector<double>& truth);

}  // namespace kinflow
