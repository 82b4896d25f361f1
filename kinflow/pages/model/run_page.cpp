// A fit's document: its record, what needs its model, and its history.
#include "kinflow/pages/model/run_page.h"

#include <nlohmann/json.hpp>

#include "kinflow/pages/learning_curves.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/run_record.h"

namespace kinflow {

nlohmann::json run_page(const std::string& path) {
  const auto run = read_run_record(path);
  auto document = run_document(run);
  add_model_sections(run, document);
  document["sections"].push_back(learning_curves(run.file("metrics.csv"), run.record));
  return document;
}

}  // namespace kinflow
