// A temporary file, fsync and rename.
#include "kinflow/core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
/// Ending of files that are not finished.
constexpr const char* kUnfinished = ".tmp";

/// A name beside `path` that no other AtomicFile of a running process has.
std::string temporary_name(const std::string& path) {
  static std::atomic<int> counter{0};
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) +
         kUnfinished;
}

/// Whether a name ends as those of temporary_name() do.
bool is_temporary_name(std::string_view name) {
  if (!name.ends_with(kUnfinished)) return false;
  name.remove_suffix(std::string_view(kUnfinished).size());
  for (int numbers = 0; numbers < 2; ++numbers) {
    const auto last = name.find_last_not_of("0123456789");
    if (last == std::string_view::npos || name[last] != '.' || last + 1 == name.size())
      return false;
    name = name.substr(0, last);
  }
  return true;
}

/// Makes a rename in this folder survive a power cut. Some file systems cannot sync a
/// folder; the rename itself has succeeded by then, so that is no error.
void sync_folder_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  const int folder =
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status;
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail();
  }
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    // A link keeps pointing at the file, whose content changes.
    std::error_code ignored;
    const auto target = std::filesystem::canonical(path_, ignored);
    target_ = exists && !ignored ? target.string() : path_;
    temporary_ = temporary_name(target_);
    descriptor_ = ::open(temporary_.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) temporary_.clear();
  }
  if (descriptor_ < 0) fail();
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void AtomicFile::sync() {
  flush();
  // EINVAL: a pipe or a terminal, which cannot be synced.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail();
}

void AtomicFile::commit() {
  sync();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
  sync_folder_of(target_);
}

template <typename WriteSome>
void AtomicFile::write_all(std::string_view bytes, const WriteSome& write_some) {
  while (!bytes.empty()) {
    const ssize_t written = write_some(bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::flush() {
  write_all(buffer_, [&](std::string_view left) {
    return ::write(descriptor_, left.data(), left.size());
  });
  buffer_.clear();
}

void AtomicFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  flush();
  write_all(bytes, [&](std::string_view left) {
    const std::size_t done = bytes.size() - left.size();
    return ::pwrite(descriptor_, left.data(), left.size(),
                    static_cast<off_t>(offset + done));
  });
}

void AtomicFile::fail() { throw InputError(system_message(path_, "write")); }

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void remove_unfinished_files(const std::string& directory, const std::string& name) {
  std::error_code ignored;
  const auto prefix = name.empty() ? name : name + ".";
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const auto found = entry.path().filename().string();
    if (!is_temporary_name(found) || found.rfind(prefix, 0) != 0) continue;
    std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace kinflow
