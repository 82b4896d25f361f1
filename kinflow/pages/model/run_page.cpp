// A fit's document: its record, what needs its model, and its history.
#include "kinflow/pages/model/run_page.h"

#include <nlohmann/json.hpp>

#include "kinflow/model/images/image_model.h"
#include "kinflow/model/model.h"
#include "kinflow/model/model_kind.h"
#include "kinflow/pages/learning_curves.h"
#include "kinflow/pages/model/image_sections.h"
#include "kinflow/pages/model/model_sections.h"
#include "kinflow/pages/record_lookup.h"
#include "kinflow/pages/run_record.h"
#include "kinflow/pages/shared_parts_section.h"
#include "kinflow/pages/strength_words.h"

namespace kinflow {

namespace {

// Without run.json the model's own record serves, which says nearly as much.
void take_record_of_model(RunRecord& run) {
  if (run.problem.empty()) return;
  try {
    nlohmann::json result;
    run.is_of_images = model_kind(run.model_path()) == ModelKind::images;
    result = run.is_of_images ? load_image_model(run.model_path()).record
                              : load_model(run.model_path()).record;
    if (!result.is_object()) return;
    for (const auto* key : {"request", "data_hash", "kinflow_version"}) {
      if (result.contains(key)) run.record[key] = result[key];
    }
    result.erase("request");
    run.record["result"] = std::move(result);
    run.record["status"] = "finished";
    run.problem.clear();
  } catch (const std::exception&) {
    // Whoever reads the model says what is wrong with it.
  }
}

}  // namespace

nlohmann::json run_page(const std::string& path) {
  auto run = read_run_record(path);
  const auto problem = run.problem;
  take_record_of_model(run);
  auto document = run_document(run);
  // Of a model file alone nothing else is expected.
  if (!problem.empty() && run.problem.empty() && path != run.model_path()) {
    document["watch"].push_back(watch_line("missing", problem));
  }
  if (run.is_of_images) {
    add_image_sections(run, document);
  } else {
    add_model_sections(run, document);
  }
  add_shared_parts_sections(found_at(run.record, "/result"), document);
  if (auto choice = dependence_choice_section(run.record); !choice.is_null()) {
    document["sections"].push_back(std::move(choice));
  }
  document["sections"].push_back(learning_curves(run.file("metrics.csv"), run.record));
  return document;
}

}  // namespace kinflow
