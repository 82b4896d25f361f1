// The folder of a study that can be stopped and goes on.
#pragma once

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "kinflow/core/folder_lock.h"

namespace kinflow {

/// study.json says which study it is, sets/NAME.json hold what is known already.
class StudyFolder {
 public:
  /// Makes the folder, or opens and locks one of the same study. InputError where it
  /// holds another study, one of another kinflow, or other files.
  /// @param overwrite  begin anew in place of a study that the folder holds, whatever
  ///                   it is
  StudyFolder(const std::string& directory, const nlohmann::json& description,
              bool overwrite = false);

  /// Of all calls that worked on the folder.
  double seconds() const;
  /// Any thread may call the following.
  void write_seconds() const;
  std::optional<nlohmann::json> find(const std::string& name) const;
  void keep(const std::string& name, const nlohmann::json& result) const;
  std::string path_of(const std::string& name) const;

 private:
  void check_same(const nlohmann::json& found, const nlohmann::json& description);

  std::string directory_;
  nlohmann::json description_;
  FolderLock lock_;
  double seconds_before_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
};

}  // namespace kinflow
