// How rows depend on each other and how strongly, as run.json has it, in words.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kinflow {

/// "groups of 'family'"; empty where rows are independent. @param request  of run.json
std::string dependence_in_words(const nlohmann::json& request);

/// An estimated parameter of the dependence; NaN for what is not known.
struct DependenceEstimate {
  std::string name;         ///< "lambda", "rho", the label of a group
  std::int64_t latent = 0;  ///< from 1; 0: of all latents
  double estimate = 0, low = 0, high = 0;
};
/// @param inference  `inference` of run.json or of a model's record
std::vector<DependenceEstimate> dependence_estimates(const nlohmann::json& inference);

/// Lines on the strength of the dependence. @param record  run.json
std::vector<std::string> strength_in_words(const nlohmann::json& record);

/// The dependences that were compared before the training, with their evidence; null
/// where none were.
nlohmann::json dependence_choice_section(const nlohmann::json& record);

/// "ρ" of "rho".
std::string symbol_of(const std::string& parameter);

}  // namespace kinflow
