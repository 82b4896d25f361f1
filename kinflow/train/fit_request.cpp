// Requests as JSON: every option with its value stands in run.json.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/json_reader.h"
#include "kinflow/train/fit.h"
#include "kinflow/train/names.h"
#include "kinflow/train/run_folder.h"

namespace kinflow {

const Names<SplitBy>& split_by_names() {
  static const Names<SplitBy> names = {
      {"group", SplitBy::group}, {"rows", SplitBy::rows}, {"time", SplitBy::time}};
  return names;
}

const Names<BlockCorrelation>& block_correlation_names() {
  static const Names<BlockCorrelation> names = {
      {"shared", BlockCorrelation::shared}, {"per-block", BlockCorrelation::per_block}};
  return names;
}

nlohmann::json to_json(const FitRequest& request) {
  const auto& data = request.data;
  nlohmann::json json = {
      {"data",
       {{"table", data.table},
        {"valid_table", data.valid_table},
        {"columns", data.columns},
        {"context", data.context},
        {"group", data.group},
        {"relationship", data.relationship},
        {"time", data.time},
        {"split_by", name_of(split_by_names(), data.split_by)},
        {"valid_fraction", data.valid_fraction},
        {"drop_missing", data.drop_missing}}},
      {"correlation", name_of(block_correlation_names(), request.correlation)},
      {"flow", to_json(request.flow)},
      {"float64", request.float64},
      {"device", request.device},
      {"threads", request.threads},
      {"train", to_json(request.train)}};
  // Dimension and bound follow from the data unless the bound was given.
  json["flow"].erase("dimension");
  json["flow"].erase("context");
  json["flow"]["bound"] = request.bound ? nlohmann::json(*request.bound) : "from data";
  return json;
}

FitRequest fit_request_from(const nlohmann::json& json, const std::string& source) {
  const JsonReader reader(json, source);
  const auto data = reader.object("data");
  FitRequest request;
  request.data = {.table = data.text("table"),
                  .valid_table = data.text("valid_table"),
                  .columns = data.texts("columns"),
                  .context = data.texts("context"),
                  .group = data.text("group"),
                  .relationship = data.text("relationship"),
                  .time = data.text("time"),
                  .split_by = data.one_of("split_by", split_by_names()),
                  .valid_fraction = data.number("valid_fraction", 0, 1),
                  .drop_missing = data.boolean("drop_missing")};
  request.correlation = reader.one_of("correlation", block_correlation_names());
  auto flow = reader.object("flow").json();
  flow["dimension"] = 1;
  flow["context"] = 0;
  if (flow["bound"].is_string()) {
    flow["bound"] = request.flow.bound;
  } else {
    request.bound = reader.object("flow").number("bound", 1e-3, 1e6);
  }
  request.flow = flow_options_from(JsonReader(flow, source, "flow"));
  request.float64 = reader.boolean("float64");
  request.device = reader.text("device");
  request.threads = reader.integer("threads", 1, 4096);
  request.train = train_options_from(reader.object("train"));
  return request;
}

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
