// What the programs of the command line have in common.
#pragma once

#include <CLI/App.hpp>
#include <functional>

#include "console.h"

namespace kinflow::cli {

using AddVerbs = std::function<void(CLI::App&, Console&)>;

/// Runs the verb that the arguments name and gives the exit code of the program.
int run_verbs(int argc, char** argv, const AddVerbs& add_verbs);

}  // namespace kinflow::cli
