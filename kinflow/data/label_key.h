// When two labels, of groups or people, are the same.
#pragma once

#include <string>
#include <string_view>

namespace kinflow {

/// The text by which a label is compared with others: equal numbers have the same, so
/// that 1, 1.0 and 1e0, which programs write for one thing, are one label. Numbers are
/// compared as decimals, digit by digit, so long ids do not run into each other. A
/// label with a leading zero, such as 01, is text, which is compared as it stands.
std::string label_key(std::string_view label);

}  // namespace kinflow
