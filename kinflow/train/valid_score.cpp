// Names of scores, in records of all ages.
#include "kinflow/train/valid_score.h"

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
                                          {"joint", ValidScore::joint}};
  return names;
}

std::string valid_score_key(ValidScore score) {
  return score == ValidScore::rows ? "valid_nll_nats" : "valid_joint_nll_nats_per_row";
}

std::string valid_score_label(ValidScore score) {
  return score == ValidScore::rows ? "valid NLL" : "valid joint NLL per row";
}

ValidScore valid_score_of(const nlohmann::json& record) {
  const auto name = name_of(valid_score_names(), ValidScore::joint);
  return record.is_object() && record.value("valid_score", nlohmann::json()) == name
             ? ValidScore::joint
             : ValidScore::rows;
}

void name_scores(nlohmann::json& record) {
  if (valid_score_of(record) != ValidScore::joint) return;
  rename_joint(record);
  const auto members = record.find("members");
  if (members == record.end() || !members->is_array()) return;
  for (auto& member : *members) rename_joint(member);
}

}  // namespace kinflow
