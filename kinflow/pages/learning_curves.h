// The section of learning curves: metrics.csv, with as many epochs and flows as a
// picture can show.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

/// Epochs of a curve, and curves that were not kept, at most.
inline constexpr std::size_t kMostCurveEpochs = 160;
inline constexpr std::size_t kMostOtherCurves = 120;

/// @param record  of the run: its members have the epochs that were kept
/// @returns the section, or one that says what is missing
nlohmann::json learning_curves(const std::string& metrics_path,
                               const nlohmann::json& record);

}  // namespace kinflow
