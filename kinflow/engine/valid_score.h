// Scores of validation rows, and what each is called.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kinflow/engine/names.h"

namespace kinflow {

/// Numbers of different scores must not be compared.
enum class ValidScore {
  rows,      ///< mean of the NLLs of single rows
  weighted,  ///< the same, each row weighted by what it is worth
  joint      ///< NLL of all rows together, their dependence included, divided by their
             ///< number; in records of earlier versions
};

/// "rows", "weighted" and "joint", as `valid_score` of a record says.
const Names<ValidScore>& valid_score_names();
/// Its name in run.json, metrics.csv and results.csv.
std::string valid_score_key(ValidScore score);
/// Its name in lines for a reader.
std::string valid_score_label(ValidScore score);

/// The score of a record, which may hold anything; `rows` where it says nothing.
ValidScore valid_score_of(const nlohmann::json& record);
/// Renames the joint scores of a record that was written when both scores had the name
/// of single rows.
void name_scores(nlohmann::json& record);

}  // namespace kinflow
