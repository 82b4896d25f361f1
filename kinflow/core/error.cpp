// Messages of failed system calls.
#include "kinflow/core/error.h"

#include <cerrno>
#include <cstring>

namespace kinflow {

std::string system_message(const std::string& path, const std::string& what) {
  return path + ": cannot " + what + " (" + std::strerror(errno) + ")";
}

}  // namespace kinflow
