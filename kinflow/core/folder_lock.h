// Keeps two processes from writing into one folder.
#pragma once

#include <memory>
#include <string>

namespace kinflow {

/// A lock on a folder, the file `.lock` in it, as long as the object and its copies
/// live. The system frees the lock of a process that was killed.
class FolderLock {
 public:
  FolderLock() = default;
  /// InputError where another process holds the lock.
  /// @param work  "fit": what the folder is for, in the message
  FolderLock(const std::string& directory, const std::string& work);

  bool is_held() const { return held_ != nullptr; }
  /// Frees the lock and removes its file.
  void release();

  /// Whether somebody holds the lock. Changes nothing.
  static bool is_taken(const std::string& directory);
  /// InputError where somebody holds the lock. Changes nothing.
  static void require_free(const std::string& directory, const std::string& work);

 private:
  struct Held;
  std::shared_ptr<Held> held_;
};

}  // namespace kinflow
