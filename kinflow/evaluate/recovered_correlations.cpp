// Look-up by label, and means of differences.
#include "kinflow/evaluate/recovered_correlations.h"

#include <cmath>
#include <unordered_map>

namespace kinflow {

RepeatedBlocks repeated_blocks(const Simulation& simulation) {
  RepeatedBlocks repeated;
  for (std::size_t b = 0; b < simulation.block_sizes.size(); ++b) {
    if (simulation.block_sizes[b] < 2) continue;
    repeated.labels.push_back(simulated_block_label(static_cast<std::int64_t>(b)));
    repeated.sizes.push_back(simulation.block_sizes[b]);
    repeated.correlations.push_back(simulation.within_block_correlation[b]);
  }
  return repeated;
}

std::vector<double> correlations_of(const LearnedDependence& learned,
                                    const std::vector<std::string>& labels) {
  std::unordered_map<std::string, double> known;
  const auto correlations = learned.mean_parameters();
  for (std::size_t i = 0; i < learned.labels.size(); ++i) {
    known[learned.labels[i]] = correlations.at(i);
  }
  std::vector<double> found;
  for (const auto& label : labels) {
    const auto at = known.find(label);
    found.push_back(at == known.end() ? 0 : at->second);
  }
  return found;
}

CorrelationError correlation_error(const std::vector<double>& learned,
                                   const std::vector<double>& truth) {
  CorrelationError error;
  if (truth.empty()) return error;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double difference = learned.at(i) - truth[i];
    error.mean_squared += difference * difference;
    error.mean_absolute += std::abs(difference);
  }
  error.mean_squared /= static_cast<double>(truth.size());
  error.mean_absolute /= static_cast<double>(truth.size());
  return error;
}

}  // namespace kinflow
