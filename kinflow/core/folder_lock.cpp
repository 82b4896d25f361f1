// Locking by flock.
#include "kinflow/core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "kinflow/core/error.h"

namespace kinflow {

struct FolderLock::Held {
  std::string path;
  int descriptor;
  bool removes_file;

  ~Held() {
    if (removes_file) ::unlink(path.c_str());
    ::close(descriptor);
  }
};

namespace {

[[noreturn]] void fail_for_another(const std::string& directory,
                                   const std::string& work) {
  throw InputError(directory + ": expected a folder for this " + work +
                   " alone, found another process that is at work in it");
}

}  // namespace

bool FolderLock::is_taken(const std::string& directory) {
  const int descriptor = ::open((directory + "/.lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  return !is_free;
}

void FolderLock::require_free(const std::string& directory, const std::string& work) {
  if (is_taken(directory)) fail_for_another(directory, work);
}

FolderLock::FolderLock(const std::string& directory, const std::string& work) {
  const auto path = directory + "/.lock";
  // A killed process leaves its file behind; it stays unless the work ends well.
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw InputError(system_message(path, "write"));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    fail_for_another(directory, work);
  }
  held_ = std::shared_ptr<Held>(new Held{path, descriptor, is_new});
}

void FolderLock::release() {
  if (held_) held_->removes_file = true;
  held_.reset();
}

}  // namespace kinflow
