// Requests as JSON: every option with its value stands in run.json.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/fit/images/image_fit.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/model/dependence_request.h"

namespace kinflow {

nlohmann::json to_json(const ImageFitRequest& request) {
  nlohmann::json json = {{"data", to_json(request.data)},
                         {"valid", to_json(request.valid)},
                         {"valid_fraction", request.valid_fraction},
                         {"valid_every", request.valid_every},
                         {"flow", to_json(request.flow)},
                         {"train", to_json(request.train)},
                         {"grid", request.grid},
                         {"minutes", nullptr},
                         {"device", request.device},
                         {"threads", request.threads}};
  if (request.minutes) json["minutes"] = *request.minutes;
  // They follow from the data.
  for (const auto* key : {"channels", "height", "width"}) json["flow"].erase(key);
  return json;
}

ImageFitRequest image_fit_request_from(const nlohmann::json& json,
                                       const std::string& source) {
  const JsonReader reader(json, source);
  auto flow = reader.object("flow").json();
  const GlowOptions any_shape;
  flow["channels"] = any_shape.channels;
  flow["height"] = any_shape.height;
  flow["width"] = any_shape.width;
  ImageFitRequest request{
      .data = image_request_from(reader.object("data")),
      .valid = image_request_from(reader.object("valid")),
      .valid_fraction = reader.number("valid_fraction", kSmallestValidFraction,
                                      kLargestValidFraction),
      .valid_every = reader.integer("valid_every", 0, kManySteps),
      .flow = glow_options_from(JsonReader(flow, source, "flow")),
      .train = image_train_options_from(reader.object("train")),
      .grid = reader.numbers("grid", kSmallestParameter, kLargestParameter),
      .device = reader.text("device"),
      .threads = reader.integer("threads", 1, 4096)};
  request.precision = request.train.precision;
  if (json.contains("minutes") && !json["minutes"].is_null()) {
    request.minutes = reader.number("minutes", kFewestMinutes, kMostMinutes);
  }
  return request;
}

ImageFitRequest with_defaults(ImageFitRequest request) {
  auto& train = request.train;
  if (train.schedule == Schedule::alternating) {
    throw InputError(
        "--schedule: expected baseline, grid or joint for images, found alternating");
  }
  if (train.estimator == Estimator::hybrid) {
    throw InputError("--estimator: expected memory or pairs for images, found hybrid");
  }
  image_correlation(
      name_of(block_correlation_names(), std::optional(train.correlation)));
  if (request.grid.empty()) {
    throw InputError("--grid: expected at least one correlation, found none");
  }
  train.precision = request.precision.value_or(
      request.device == "cuda" ? ImagePrecision::mixed : ImagePrecision::float32);
  if (train.precision == ImagePrecision::mixed && request.device != "cuda") {
    throw InputError(fmt::format(
        "--precision: expected float32 on {}, found mixed, which needs --device cuda",
        request.device));
  }
  request.valid.prepare = request.data.prepare;
  request.valid.skip_corrupt = request.data.skip_corrupt;
  // Reading checks every range.
  return image_fit_request_from(to_json(request), "fit");
}

bool is_image_run(const std::string& directory) {
  const auto folder = RunFolder::open(directory);
  const auto record = folder.read_record();
  return record.is_object() && record.contains("kind") && record["kind"] == "images";
}

ImageFitRequest read_image_run_request(const std::string& directory) {
  const auto folder = RunFolder::open(directory);
  const auto record = folder.read_record();
  const auto path = folder.record_path();
  return image_fit_request_from(JsonReader(record, path).object("request").json(),
                                path);
}

}  // namespace kinflow
