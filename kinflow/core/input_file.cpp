// POSIX reads with their errors.
#include "kinflow/core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

// Linux moves at most 2 GiB in one call.
constexpr std::size_t kMostAtOnce = 1 << 30;

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0 ||
      (S_ISDIR(status.st_mode) && (errno = EISDIR))) {
    const std::string message = system_message(path_, "read");
    if (descriptor_ >= 0) ::close(descriptor_);
    throw InputError(message);
  }
  is_regular_ = S_ISREG(status.st_mode);
  if (is_regular_) size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(void* to, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const std::size_t part = std::min(count - done, kMostAtOnce);
    const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError(system_message(path_, "read"));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::read_exactly(void* to, std::size_t count) {
  if (read(to, count) != count) fail_at_early_end();
}

void InputFile::read_at(std::uint64_t offset, void* to, std::size_t count) const {
  for (std::size_t done = 0; done < count;) {
    const std::size_t part = std::min(count - done, kMostAtOnce);
    const ssize_t got = ::pread(descriptor_, static_cast<char*>(to) + done, part,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError(system_message(path_, "read"));
    if (got == 0) fail_at_early_end();
    done += static_cast<std::size_t>(got);
  }
}

void InputFile::fail_at_early_end() const {
  throw InputError(path_ + ": the file ends before its data does");
}

std::string read_to_end(InputFile& file) {
  std::string bytes;
  try {
    std::size_t done = 0;
    // One more than the size, so that the end of a regular file shows in one round.
    std::size_t wanted = std::max<std::size_t>(file.size() + 1, 1 << 16);
    for (;;) {
      bytes.resize(wanted);
      done += file.read(bytes.data() + done, wanted - done);
      if (done < wanted) break;
      wanted *= 2;
    }
    bytes.resize(done);
  } catch (const std::bad_alloc&) {
    throw InputError(file.path() + ": too large for the memory of this machine");
  }
  return bytes;
}

std::string read_whole_file(const std::string& path) {
  InputFile file(path);
  return read_to_end(file);
}

}  // namespace kinflow
