// Long lists of names in one line of a message.
#pragma once

#include <string>
#include <vector>

namespace kinflow {

/// The first few names in quotes, and "..." where there are more.
std::string first_names(const std::vector<std::string>& names);

}  // namespace kinflow
