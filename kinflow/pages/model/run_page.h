// The page of a fit: of a table or of images.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

/// The document of a run folder, or of a model file. What is missing or broken is said
/// in the page.
nlohmann::json run_page(const std::string& path);

}  // namespace kinflow
