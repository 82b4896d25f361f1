// Locking by flock.
#include "kinflow/core/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "kinflow/core/error.h"

namespace kinflow {

FolderLock::FolderLock(const std::string& directory, const std::string& work)
    : path_(directory + "/.lock") {
  // A killed process leaves its file behind; it stays unless the work ends well.
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path_, ignored);
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw InputError(system_message(path_, "write"));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor);
    throw InputError(directory + ": expected a folder for this " + work +
                     " alone, found another process that is at work in it");
  }
  descriptor_ = std::shared_ptr<int>(new int(descriptor),
                                     [path = path_, is_new](const int* held) {
                                       if (is_new) ::unlink(path.c_str());
                                       ::close(*held);
                                       delete held;
                                     });
}

void FolderLock::release() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  descriptor_.reset();
}

}  // namespace kinflow
