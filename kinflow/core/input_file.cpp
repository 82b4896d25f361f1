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
    // Linux moves at most 2 GiB in one call.
    const std::size_t part = std::min<std::size_t>(count - done, 1 << 30);
    const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError(system_message(path_, "read"));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::read_exactly(void* to, std::size_t count) {
  if (read(to, count) != count) {
    throw InputError(path_ + ": the file ends before its data does");
  }
}

std::string read_whole_file(const std::string& path) {
  InputFile file(path);
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
    throw InputError(path + ": too large for the memory of this machine");
  }
  return bytes;
}

}  // namespace kinflow
