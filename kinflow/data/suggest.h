// What a mistyped name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kinflow {

/// The known name nearest to `typed`; empty where none is near. Letters that are
/// missing, too many, other ones or exchanged count, upper and lower case do not; a
/// beginning of a name is near to it.
std::string nearest_name(std::string_view typed, std::span<const std::string> known);

/// "; did you mean 'NAME'?", or nothing, for the end of a message. The name is shown as
/// in_quotes() shows it: it may come from a file.
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

}  // namespace kinflow
