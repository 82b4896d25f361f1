// Pieces of a file as they appear in messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kinflow {

/// `text` on one line: bytes outside printable UTF-8 as \x1f.
std::string printable(std::string_view text);

/// The same in single quotes, long text cut after `max_bytes` with "...".
std::string in_quotes(std::string_view text, std::size_t max_bytes = 40);

/// Names in quotes with commas between; after `most` of them "and 3 more".
std::string in_quotes(std::span<const std::string> names, std::size_t most);
/// Texts in the same way, without quotes.
std::string listed(std::span<const std::string> texts, std::size_t most);

/// True for valid UTF-8 without control characters.
bool is_printable_utf8(std::string_view text);

}  // namespace kinflow
