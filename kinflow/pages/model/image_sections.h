// Sections of a model of images: sheets, correlations of people, precision and recall.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "kinflow/pages/run_record.h"

namespace kinflow {

/// Adds them to a document of run_document(). What cannot be made is said in the page;
/// nothing is thrown for what is missing or broken.
void add_image_sections(const RunRecord& run, nlohmann::json& document);

}  // namespace kinflow
