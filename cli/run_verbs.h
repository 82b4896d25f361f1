// What the programs of the command line have in common.
#pragma once

#include <CLI/App.hpp>
#include <functional>

#include "console.h"

namespace kinflow::cli {

using AddVerbs = std::function<void(CLI::App&, Console&)>;

/// Lets the process keep the memory that it frees: arrays of some megabytes come and
/// go with every step of a training, and taking their pages from the system each time
/// costs more than the work on them.
void keep_freed_memory();

/// Runs the verb that the arguments name and gives the exit code of the program.
int run_verbs(int argc, char** argv, const AddVerbs& add_verbs);

}  // namespace kinflow::cli
