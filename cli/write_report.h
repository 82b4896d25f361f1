// The report page that verbs write when their work is done.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "console.h"

namespace kinflow::cli {

/// Adds --no-report.
void add_no_report(CLI::App& verb, bool& no_report);

/// Where the page of a folder stands.
std::string report_in(const std::string& directory);

/// Writes the page of a document and says where. The work is done by then: where the
/// page cannot be made, a warning says why, and nothing is thrown.
void write_report(const std::string& path,
                  const std::function<nlohmann::json()>& make_document,
                  Console& console);

}  // namespace kinflow::cli
