// Names of scores, in records of all ages.
#include "kinflow/engine/valid_score.h"

#include <nlohmann/json.hpp>

namespace kinflow {
namespace {

void rename_joint(nlohmann::json& object) {
  if (!object.is_object()) return;
  const auto old = object.find(valid_score_key(ValidScore::rows));
  if (old == object.end()) return;
  auto value = std::move(*old);
  object.erase(old);
  object.emplace(valid_score_key(ValidScore::joint), std::move(value));
}

}  // namespace

const Names<ValidScore>& valid_score_names() {
  static const Names<ValidScore> names = {{"rows", ValidScore::rows},
                                          {"weighted", ValidScore::weighted},
                                          {"joint", ValidScore::joint}};
  return names;
}

std::string valid_score_key(ValidScore score) {
  switch (score) {
    case ValidScore::weighted:
      return "valid_weighted_nll_nats";
    case ValidScore::joint:
      return "valid_joint_nll_nats_per_row";
    default:
      return "valid_nll_nats";
  }
}

std::string valid_score_label(ValidScore score) {
  switch (score) {
    case ValidScore::weighted:
      return "valid NLL of weighted rows";
    case ValidScore::joint:
      return "valid joint NLL per row";
    default:
      return "valid NLL";
  }
}

ValidScore valid_score_of(const nlohmann::json& record) {
  const auto found = record.is_object() ? record.value("valid_score", nlohmann::json())
                                        : nlohmann::json();
  for (const auto& [name, score] : valid_score_names()) {
    if (found == name) return score;
  }
  return ValidScore::rows;
}

void name_scores(nlohmann::json& record) {
  if (valid_score_of(record) != ValidScore::joint) return;
  rename_joint(record);
  const auto members = record.find("members");
  if (members == record.end() || !members->is_array()) return;
  for (auto& member : *members) rename_joint(member);
}

}  // namespace kinflow
