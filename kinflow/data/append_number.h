// Numbers as text files hold them.
#pragma once

#include <charconv>
#include <string>

namespace kinflow {

/// With the fewest digits that read back to the same float64.
inline void append_number(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

}  // namespace kinflow
