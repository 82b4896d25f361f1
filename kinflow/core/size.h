// Numbers of rows, which are signed, as sizes of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kinflow {

/// @param number  0 or more
inline std::size_t to_size(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

}  // namespace kinflow
