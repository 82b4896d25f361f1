// The rows of a list of people by their ids.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kinflow/data/sample_ids.h"

namespace kinflow {

/// Finds the people of a file, such as a .fam, whose ids all differ.
class SampleIndex {
 public:
  /// Called with what is wrong; throws.
  using Fail = std::function<void(const std::string&)>;

  /// @param source  the file, for messages
  SampleIndex(const std::vector<SampleId>& ids, std::string source);

  /// The row with this id; one without a family stands for the one person with this
  /// individual id. Nothing where there is none; calls `fail` where there are several.
  std::optional<std::int64_t> find(const SampleId& id, const Fail& fail) const;

 private:
  std::string source_;
  std::unordered_map<SampleId, std::int64_t> by_id_;
  std::unordered_multimap<std::string, std::int64_t> by_individual_;  // label_key()
};

}  // namespace kinflow
