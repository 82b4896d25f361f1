// The metadata of model files.
#include "kinflow/model/model_kind.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/safetensors.h"
#include "kinflow/engine/names.h"

namespace kinflow {
namespace {

constexpr const char* kMetadataKey = "kinflow";

const Names<ModelKind>& model_kind_names() {
  static const Names<ModelKind> names = {{"table", ModelKind::table},
                                         {"images", ModelKind::images}};
  return names;
}

// Files of table models need not say so.
ModelKind kind_in(const nlohmann::json& description, const std::string& path) {
  if (!description.is_object() || !description.contains("kind")) {
    return ModelKind::table;
  }
  return JsonReader(description, path).one_of("kind", model_kind_names());
}

std::string in_words(ModelKind kind) {
  return kind == ModelKind::table ? "a model of tables" : "a model of images";
}

}  // namespace

ModelKind model_kind(const std::string& path) {
  const auto metadata = read_safetensors_metadata(path);
  const auto text = metadata.find(kMetadataKey);
  if (text == metadata.end()) return ModelKind::table;
  return kind_in(parse_json(text->second, path), path);
}

std::map<std::string, std::string> metadata_of(const nlohmann::json& description) {
  return {{kMetadataKey, description.dump()}};
}

nlohmann::json read_description(const std::map<std::string, std::string>& metadata,
                                ModelKind kind, std::int64_t newest_format,
                                const std::string& path) {
  const auto text = metadata.find(kMetadataKey);
  if (text == metadata.end()) {
    throw InputError(path +
                     ": expected a kinflow model, found a safetensors file of "
                     "something else");
  }
  auto description = parse_json(text->second, path);
  const JsonReader json(description, path);
  const auto found = kind_in(description, path);
  if (found != kind) {
    throw InputError(fmt::format("{}: expected {}, found {}", path, in_words(kind),
                                 in_words(found)));
  }
  const auto version = json.integer("format_version", 1, INT64_MAX);
  if (version > newest_format) {
    throw InputError(fmt::format(
        "{}: written by a newer kinflow (format {}, this one reads up to {})", path,
        version, newest_format));
  }
  return description;
}

}  // namespace kinflow
