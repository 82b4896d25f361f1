// What `inspect` shows of every kind of model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kinflow/train/learned_dependence.h"

namespace kinflow::cli {

nlohmann::json dependence_json(const LearnedDependence& dependence);

/// The columns of metrics.csv, for a run folder, without epochs that have no validation
/// NLL.
nlohmann::json history_json(const std::string& run);

/// A value of the record, which may hold anything; "?" where it does not have it.
std::string text_at(const nlohmann::json& record, const std::string& pointer);

/// A table of the largest blocks.
void print_blocks(const LearnedDependence& dependence);

/// A table of some epochs, for a run folder.
void print_history(const std::string& run);

}  // namespace kinflow::cli
