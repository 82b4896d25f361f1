// The page of whatever somebody points at.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kinflow {

/// The document of a run folder, a model file, a sweep, a demo, a study of `reproduce`,
/// or an association study by its prefix; of several runs, one that sets them beside
/// each other. InputError for a path at which nothing of the kind stands.
nlohmann::json report_page(const std::vector<std::string>& paths, std::int64_t threads);

}  // namespace kinflow
