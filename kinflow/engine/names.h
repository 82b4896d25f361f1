// The names of options as they stand in files and on the command line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/engine/options.h"
#include "kinflow/flow/flow.h"

namespace kinflow {

class JsonReader;

/// Pairs of a name and a value of an enumeration, in the order of its declaration.
template <typename Enum>
using Names = std::vector<std::pair<std::string, Enum>>;

const Names<FlowKind>& flow_kind_names();
const Names<Permutation>& permutation_names();
const Names<Schedule>& schedule_names();
const Names<Estimator>& estimator_names();

/// The name of a value.
template <typename Enum>
std::string name_of(const Names<Enum>& names, Enum value) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return {};
}

nlohmann::json to_json(const FlowOptions& options);
nlohmann::json to_json(const SharedTrainOptions& options);
nlohmann::json to_json(const ReplicaOptions& options);
/// Reads what to_json wrote and checks every range; InputError where one is off.
FlowOptions flow_options_from(const JsonReader& json);
SharedTrainOptions train_options_from(const JsonReader& json);
ReplicaOptions replica_options_from(const JsonReader& json);

}  // namespace kinflow
