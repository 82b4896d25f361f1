// The paper's simulated data sets, ready for a study.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kinflow/data/simulate.h"
#include "studies/methods.h"

namespace kinflow {

/// Tail bounds of the authors' splines.
double paper_bound(PlaneShape shape);

struct SimulatedPlan {
  SimulateOptions simulation;  ///< shape and seed are filled in
  std::vector<PlaneShape> shapes;
  std::vector<std::uint64_t> seeds;
  std::string prefix;  ///< of the sets' names: PREFIX-SHAPE-SEED
  std::string device = "cpu";
  std::int64_t threads = 1;
  bool quick = false;
  bool one_table = false;
  /// The methods of a set with these settings.
  std::function<std::vector<Method>(const MethodSettings&)> methods;
};

/// Sets of all seeds and shapes. The shapes of one seed are bent from the same latents
/// and share what is expensive of their dependence.
std::vector<PlannedSet> plan_simulated_sets(const SimulatedPlan& plan, Logger& logger);

std::string simulated_set_name(const std::string& prefix, PlaneShape shape,
                               std::uint64_t seed);

}  // namespace kinflow
