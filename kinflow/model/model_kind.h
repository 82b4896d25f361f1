// What a model file says of itself before anything else is read of it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kinflow {

enum class ModelKind {
  table,  ///< rows of a table: model.h
  images  ///< images/image_model.h
};

/// The kind of a model file. A pipe, which can be read once only, and files that are no
/// models count as those of tables, whose reader says what is wrong.
ModelKind model_kind(const std::string& path);

/// A model's own description as the metadata of its file.
std::map<std::string, std::string> metadata_of(const nlohmann::json& description);

/// The description of a file of a kind; InputError for files of something else, of the
/// other kind or of a newer format.
nlohmann::json read_description(const std::map<std::string, std::string>& metadata,
                                ModelKind kind, std::int64_t newest_format,
                                const std::string& path);

}  // namespace kinflow
