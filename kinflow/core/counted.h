// Counts in messages.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace kinflow {

/// "1 row", "2 rows".
/// @param plural  of a noun that takes more than an s
std::string counted(std::int64_t count, std::string_view noun,
                    std::string_view plural = {});
template <std::integral Count>
std::string counted(Count count, std::string_view noun, std::string_view plural = {}) {
  return counted(static_cast<std::int64_t>(count), noun, plural);
}

}  // namespace kinflow
