// mmap with its errors.
#include "kinflow/core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    const std::string message = system_message(path_, "read");
    if (descriptor >= 0) ::close(descriptor);
    throw InputError(message);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw InputError(path_ + ": expected a file, found a folder, pipe or device");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  // An empty file cannot be mapped, and need not be.
  void* mapped = size_ == 0
                     ? nullptr
                     : ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  const std::string message = system_message(path_, "map");
  ::close(descriptor);
  if (mapped == MAP_FAILED) throw InputError(message);
  begin_ = static_cast<const std::uint8_t*>(mapped);
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::uint8_t*>(begin_), size_);
}

}  // namespace kinflow
