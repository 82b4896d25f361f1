// Cohorts for the tests of the simulator, and what is measured of them.
#pragma once

#include "kinflow/genetics/simulate_cohort.h"

namespace kinflow {

using Counts = std::vector<std::vector<std::int8_t>>;  // [variants][people]

inline Counts all_counts(const std::string& prefix) {
  const Genotypes genotypes(prefix);
  Counts counts(genotypes.variants().size());
  const auto people = all_people(genotypes);
  for (std::size_t j = 0; j < counts.size(); ++j) {
    counts[j].resize(people.size());
    genotypes.read(static_cast<std::int64_t>(j), people, counts[j].data());
  }
  return counts;
}

inline SimulateCohortOptions small_options() {
  SimulateCohortOptions options;
  options.people = 300;
  options.snps = 600;
  options.chromosomes = 3;
  options.loci = 6;
  options.polygenic_snps = 100;
  options.seed = 4;
  return options;
}

/// People of one population without drift, in families of all shapes.
inline SimulateCohortOptions one_population() {
  SimulateCohortOptions options;
  options.people = 800;
  options.snps = 8800;
  options.populations = 1;
  options.fst = 0;
  options.relatives = 0.6;
  options.missing_calls = 0;
  options.seed = 3;
  return options;
}

inline double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

inline double covariance(const std::vector<double>& values, std::int64_t columns,
                         std::int64_t one, std::int64_t other) {
  std::vector<double> left, right, product;
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(columns)) {
    left.push_back(values[i + static_cast<std::size_t>(one)]);
    right.push_back(values[i + static_cast<std::size_t>(other)]);
    product.push_back(left.back() * right.back());
  }
  return mean(product) - mean(left) * mean(right);
}

inline double frequency(const std::vector<std::int8_t>& counts) {
  double sum = 0;
  for (const auto count : counts) sum += count;
  return sum / (2 * static_cast<double>(counts.size()));
}

}  // namespace kinflow
