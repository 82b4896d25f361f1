// What `inspect` shows of every kind of model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kinflow/engine/valid_score.h"
#include "kinflow/model/learned_dependence.h"

namespace kinflow::cli {

nlohmann::json dependence_json(const LearnedDependence& dependence);

/// The columns of metrics.csv, for a run folder, without epochs that have no validation
/// NLL.
/// @param score  that the run has
nlohmann::json history_json(const std::string& run, ValidScore score);

/// A value of the record, which may hold anything; "?" where it does not have it.
std::string text_at(const nlohmann::json& record, const std::string& pointer);

/// A table of the largest blocks.
void print_blocks(const LearnedDependence& dependence);

/// Tables of what columns share in every way in which rows depend, of a record, which
/// may hold anything; nothing where it has none.
void print_shared_parts(const nlohmann::json& record);

/// A table of some epochs, for a run folder.
void print_history(const std::string& run, ValidScore score);

/// "the best epoch is ..." for a record, which may hold anything, of a training that
/// ended while it still improved; else empty.
std::string late_best_line(const nlohmann::json& record);

}  // namespace kinflow::cli
