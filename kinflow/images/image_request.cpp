// Requests as JSON: every option with its value.
#include "kinflow/images/image_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kinflow/core/json_reader.h"

namespace kinflow {
namespace {

std::string name_of(ImageColors colors) {
  const auto& names = image_colors_names();
  return std::find_if(names.begin(), names.end(),
                      [&](const auto& pair) { return pair.second == colors; })
      ->first;
}

}  // namespace

nlohmann::json to_json(const PrepareOptions& options) {
  return {{"crop", options.crop},
          {"width", options.width},
          {"height", options.height},
          {"colors", name_of(options.colors)},
          {"bits", options.bits}};
}

PrepareOptions prepare_options_from(const JsonReader& json) {
  return {.crop = json.integer("crop", 0, 1'000'000),
          .width = json.integer("width", 0, kLargestSide),
          .height = json.integer("height", 0, kLargestSide),
          .colors = json.one_of("colors", image_colors_names()),
          .bits = json.integer("bits", 1, 8)};
}

nlohmann::json to_json(const ImageRequest& request) {
  return {{"path", request.path},
          {"ids", request.ids},
          {"file_column", request.file_column},
          {"person_column", request.person_column},
          {"prepare", to_json(request.prepare)},
          {"skip_corrupt", request.skip_corrupt}};
}

ImageRequest image_request_from(const JsonReader& json) {
  return {.path = json.text("path"),
          .ids = json.text("ids"),
          .file_column = json.text("file_column"),
          .person_column = json.text("person_column"),
          .prepare = prepare_options_from(json.object("prepare")),
          .skip_corrupt = json.boolean("skip_corrupt")};
}

}  // namespace kinflow
