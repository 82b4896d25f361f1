// Requests as JSON: every option with its value stands in run.json.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/train/fit.h"
#include "kinflow/train/names.h"
#include "kinflow/train/run_folder.h"

namespace kinflow {
namespace {

// The values that the paper's grid search tries.
const std::vector<double> kRhoGrid = {0.01,  0.025, 0.05, 0.1,  0.175, 0.25,
                                      0.375, 0.5,   0.6,  0.67, 0.75,  0.9};
const std::vector<double> kLambdaGrid = {0.99,  0.975, 0.95, 0.9,  0.825, 0.75,
                                         0.625, 0.5,   0.4,  0.33, 0.25,  0.1};

}  // namespace

const Names<SplitBy>& split_by_names() {
  static const Names<SplitBy> names = {
      {"group", SplitBy::group}, {"rows", SplitBy::rows}, {"time", SplitBy::time}};
  return names;
}

const Names<BlockCorrelation>& block_correlation_names() {
  static const Names<BlockCorrelation> names = {
      {"shared", BlockCorrelation::shared},
      {"per-block", BlockCorrelation::per_block},
      {"per-size", BlockCorrelation::per_size},
      {"pooled", BlockCorrelation::pooled}};
  return names;
}

const Names<RelationshipScale>& relationship_scale_names() {
  static const Names<RelationshipScale> names = {
      {"mean-diagonal", RelationshipScale::unit_diagonal},
      {"none", RelationshipScale::none}};
  return names;
}

FitRequest with_defaults(FitRequest request) {
  auto& data = request.data;
  auto& train = request.train;
  const bool by_group = !data.group.empty();
  const bool by_relationship = !data.relationship.empty();
  if (by_group && by_relationship) {
    throw InputError(
        "fit: expected a group column or a relationship matrix, found both");
  }
  if (!by_relationship && (!data.id.empty() || !data.relationship_ids.empty())) {
    throw InputError(
        "--id and --relationship-ids: expected --relationship FILE, found none");
  }
  if (data.id.size() > 2) {
    throw InputError(
        "--id: expected one column, or two of family and individual, found " +
        std::to_string(data.id.size()));
  }
  if (!by_group && !by_relationship) train.schedule = Schedule::baseline;
  data.split_by = data.split_by.value_or(by_group ? SplitBy::group : SplitBy::rows);
  if (data.split_by == SplitBy::group && !by_group) {
    throw InputError("--split-by: expected rows or time without --group, found group");
  }
  if (data.split_by == SplitBy::time && data.time.empty()) {
    throw InputError("--split-by time: expected --time COLUMN, found none");
  }
  if (train.grid.empty()) train.grid = by_relationship ? kLambdaGrid : kRhoGrid;
  // Reading checks every range.
  return fit_request_from(to_json(request), "fit");
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
        {"relationship_ids", data.relationship_ids},
        {"relationship_scale",
         name_of(relationship_scale_names(), data.relationship_scale)},
        {"id", data.id},
        {"time", data.time},
        {"split_by", name_of(split_by_names(), data.split_by.value_or(SplitBy::rows))},
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
                  .relationship_ids = data.text("relationship_ids"),
                  .relationship_scale =
                      data.one_of("relationship_scale", relationship_scale_names()),
                  .id = data.texts("id"),
                  .time = data.text("time"),
                  .split_by = data.one_of("split_by", split_by_names()),
                  .valid_fraction = data.number(
                      "valid_fraction", kSmallestValidFraction, kLargestValidFraction),
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
