// The verbs of the command line, one file each.
#pragma once

#include <CLI/App.hpp>
#include <atomic>
#include <string>

#include "console.h"

namespace kinflow::cli {

/// True once the user pressed Ctrl-C or the system asked the program to end. The second
/// time the signal ends it at once.
/// @param says  line that the first signal shows at once; empty: none
const std::atomic<bool>& stop_requested(const std::string& says = "");

/// What a training does.
inline constexpr const char* kStopsAfterEpoch =
    "stopping after this epoch; a second signal stops at once";

/// Of the verb that is a program of its own.
inline constexpr const char* kReproduceHelp =
    "Run the paper's experiments beside its numbers";

void add_simulate(CLI::App& app, Console& console);
void add_fit(CLI::App& app, Console& console);
void add_sweep(CLI::App& app, Console& console);
void add_evaluate(CLI::App& app, Console& console);
void add_sample(CLI::App& app, Console& console);
void add_transform(CLI::App& app, Console& console);
void add_compare(CLI::App& app, Console& console);
void add_inspect(CLI::App& app, Console& console);
void add_relationship(CLI::App& app, Console& console);
void add_grm(CLI::App& app, Console& console);
void add_gwas(CLI::App& app, Console& console);
void add_clump(CLI::App& app, Console& console);
void add_report(CLI::App& app, Console& console);
void add_reproduce(CLI::App& app, Console& console);
void add_demo(CLI::App& app, Console& console);

}  // namespace kinflow::cli
