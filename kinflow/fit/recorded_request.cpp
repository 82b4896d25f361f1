// The request of a run folder.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/json_reader.h"
#include "kinflow/fit/fit.h"
#include "kinflow/fit/run_folder.h"

namespace kinflow {

FitRequest read_run_request(const std::string& directory) {
  const auto folder = RunFolder::open(directory);
  const auto record = folder.read_record();
  const auto path = folder.record_path();
  return fit_request_from(JsonReader(record, path).object("request").json(), path);
}

bool run_is_finished(const std::string& directory) {
  const auto folder = RunFolder::open(directory);
  const auto record = folder.read_record();
  std::error_code ignored;
  return JsonReader(record, folder.record_path()).text("status") == "finished" &&
         std::filesystem::exists(folder.model_path(), ignored);
}

}  // namespace kinflow
