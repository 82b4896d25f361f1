// The page of a sweep.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

/// Whether a folder holds a sweep.
bool is_sweep(const std::string& directory);

/// The document of a sweep folder: its runs as parallel coordinates and as a table.
/// What is missing or broken is said in the page.
nlohmann::json sweep_page(const std::string& directory);

}  // namespace kinflow
