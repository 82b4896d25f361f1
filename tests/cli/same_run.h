// Runs that must be the same but for the time that they took.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "run_binary.h"

namespace kinflow::cli {

/// run.json without the time that the run took.
inline nlohmann::json record_of(const std::string& run_folder) {
  auto record = nlohmann::json::parse(content_of(run_folder + "/run.json"));
  record.erase("seconds");
  return record;
}

inline void expect_same_run(const std::string& left, const std::string& right) {
  EXPECT_TRUE(content_of(left + "/model.safetensors") ==
              content_of(right + "/model.safetensors"));
  EXPECT_EQ(content_of(left + "/metrics.csv"), content_of(right + "/metrics.csv"));
  // Of fits with folds alone.
  for (const auto& [name, content] : content_below(left)) {
    if (!name.ends_with("held_out.csv")) continue;
    EXPECT_EQ(content, content_of(right + "/held_out.csv"));
  }
  EXPECT_EQ(record_of(left), record_of(right));
  EXPECT_EQ(content_below(left).size(), content_below(right).size());
}

}  // namespace kinflow::cli
