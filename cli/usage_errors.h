// Mistakes in a command line, in plain words.
#pragma once

#include <CLI/App.hpp>
#include <span>
#include <string>

namespace kinflow::cli {

/// One line on what was expected and what was found.
/// @param app  that was parsing
std::string usage_message(CLI::App& app, const CLI::ParseError& error);

/// InputError for an empty value, as a variable that is not set leaves it, which would
/// be taken as if the option were not there, and for a flag with a value.
/// @param words  of a command line, from the verb on
void check_values(CLI::App& app, std::span<char* const> words);

}  // namespace kinflow::cli
