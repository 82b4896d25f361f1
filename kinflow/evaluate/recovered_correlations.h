// Learned correlations of blocks beside the true ones.
#pragma once

#include <string>
#include <vector>

#include "kinflow/train/learned_dependence.h"

namespace kinflow {

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
