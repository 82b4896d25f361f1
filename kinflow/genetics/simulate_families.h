// Families and single people of a simulated cohort.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/genetics/genotypes.h"
#include "kinflow/genetics/simulate_cohort_options.h"

namespace kinflow {

struct SimulatedMember {
  Person person;
  std::int64_t father = -1;  ///< number within the family, -1 for founders
  std::int64_t mother = -1;
  std::int64_t row = -1;  ///< in the cohort; -1 for people of the pedigree only
  double age = 0;
};

/// Members stand behind their parents. A single person is a family of one.
struct SimulatedFamily {
  std::vector<double> ancestry;  ///< shares of the populations, of every founder
  std::vector<SimulatedMember> members;
};

/// Families until `relatives` of the people are in them (one that no longer fits is not
/// made), then single people. Ancestry is one population, or for a share of `admixed`
/// uniform among all mixtures. Generations are some 25 years apart.
std::vector<SimulatedFamily> simulate_families(const SimulateCohortOptions& options);

}  // namespace kinflow
