// Names of columns in lists that are separated by commas.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

/// The parts of a list with commas between them. As in CSV, a part may stand in quotes
/// and then hold commas, and doubled quotes; blanks around parts and empty parts go
/// away. InputError, with `option`, for a quote that does not close.
std::vector<std::string> split_names(std::string_view text, const std::string& option);

/// A list that split_names() takes apart again into these parts.
std::string join_names(std::span<const std::string> names);

/// Puts names together again that were split at a comma of their own: parts that are no
/// name by themselves, but are one with those that follow. Parts that make no name stay
/// as they are.
std::vector<std::string> with_commas_inside(
    const std::vector<std::string>& parts,
    const std::function<bool(const std::string&)>& is_name);

}  // namespace kinflow
