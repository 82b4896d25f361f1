// UTF-8 checks and escapes.
#include "kinflow/core/in_quotes.h"

#include <fmt/format.h>

#include <vector>

namespace kinflow {
namespace {

/// Bytes of the printable character at the front of `text`: 1 to 4, or 0 where there is
/// none (a control character or no UTF-8).
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong =
      (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool beyond = first == 0xf4 && byte(1) >= 0x90;
  const bool control = first == 0xc2 && byte(1) < 0xa0;
  return overlong || surrogate || beyond || control ? 0 : length;
}

// At most max_bytes of the text, "..." for the others.
std::string up_to(std::string_view text, std::size_t max_bytes) {
  std::string result;
  std::size_t used = 0;
  while (used < text.size()) {
    const std::string_view rest = text.substr(used);
    const std::size_t length = printable_length(rest);
    if (used + length > max_bytes || used >= max_bytes) break;
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(rest[0]));
      ++used;
    } else {
      result += rest.substr(0, length);
      used += length;
    }
  }
  if (used < text.size()) result += "...";
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return up_to(text, text.size()); }

std::string in_quotes(std::string_view text, std::size_t max_bytes) {
  return fmt::format("'{}'", up_to(text, max_bytes));
}

std::string in_quotes(std::span<const std::string> names, std::size_t most) {
  std::vector<std::string> quoted;
  for (const auto& name : names) quoted.push_back(in_quotes(name));
  return listed(quoted, most);
}

std::string listed(std::span<const std::string> texts, std::size_t most) {
  std::string result;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i == most) return result + fmt::format(" and {} more", texts.size() - i);
    result += (i == 0 ? "" : ", ") + texts[i];
  }
  return result;
}

bool is_printable_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace kinflow
