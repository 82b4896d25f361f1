// Mistakes in a command line, in plain words.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace kinflow::cli {

/// One line on what was expected and what was found.
/// @param app  that was parsing
std::string usage_message(CLI::App& app, const CLI::ParseError& error);

}  // namespace kinflow::cli
