// A study of parts that do not need each other, some at a time.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "studies/experiments.h"
#include "studies/study_folder.h"

namespace kinflow {

/// A piece of the work, whose result is kept by its name.
struct StudyPart {
  std::string name;
  std::function<nlohmann::json()> run;  ///< called in any thread
};

/// The results in the order of the parts; those that the folder knows are not run. As
/// many run at a time as there are threads. Interrupted where the user stops.
std::vector<nlohmann::json> run_parts(const std::vector<StudyPart>& parts,
                                      const StudyFolder& folder,
                                      const ExperimentOptions& options, Logger& logger);

}  // namespace kinflow
