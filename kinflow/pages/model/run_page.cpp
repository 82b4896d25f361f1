// A fit's document: its record, what needs its model, and its history.
#include "kinflow/pages/model/run_page.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/pages/learning_curves.h"
#include "kinflow/pages/model/image_sections.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/run_record.h"
#include "kinflow/train/model_kind.h"

namespace kinflow {

namespace {

// A model file says what it is where there is no record.
bool is_of_images(const RunRecord& run) {
  if (run.is_of_images || run.problem.empty()) return run.is_of_images;
  try {
    std::error_code ignored;
    const auto path = std::filesystem::is_directory(run.path, ignored)
                          ? run.file("model.safetensors")
                          : run.path;
    return model_kind(path) == ModelKind::images;
  } catch (const std::exception&) {
    return false;  // whoever reads it says what is wrong
  }
}

}  // namespace

nlohmann::json run_page(const std::string& path) {
  const auto run = read_run_record(path);
  auto document = run_document(run);
  if (is_of_images(run)) {
    add_image_sections(run, document);
  } else {
    add_model_sections(run, document);
  }
  document["sections"].push_back(learning_curves(run.file("metrics.csv"), run.record));
  return document;
}

}  // namespace kinflow
