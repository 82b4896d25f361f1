// Messages of failed system calls.
#include "kinflow/core/error.h"

#include <cerrno>
#include <cstring>

#include "kinflow/core/in_quotes.h"

namespace kinflow {

InputError::InputError(const std::string& message)
    : std::runtime_error(printable(message)) {}

std::string system_message(const std::string& path, const std::string& what) {
  return path + ": cannot " + what + " (" + std::strerror(errno) + ")";
}

}  // namespace kinflow
