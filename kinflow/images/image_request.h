// What images to read, and how.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kinflow/images/prepare_image.h"

namespace kinflow {

class JsonReader;

/// Sides of prepared images.
constexpr std::int64_t kLargestSide = 4096;
constexpr std::int64_t kSideMultiple = 4;

/// Images of people, in one of three layouts:
/// - `path` is a folder and `ids` is empty: a folder for each person, named as the
///   person is, with PNG or JPEG files;
/// - `path` is a folder and `ids` a table: images anywhere below it, and a row of the
///   table for each, with its name relative to the folder and its person;
/// - `path` is an .npy array of uint8, [n, H, W], [n, 1, H, W], [n, H, W, 1],
///   [n, 3, H, W] or [n, H, W, 3], and `ids` an .npy array of n integers or a table of
///   n rows with a column of persons.
struct ImageRequest {
  std::string path;
  std::string ids = {};
  std::string file_column = "file";      ///< of the table, for folders
  std::string person_column = "person";  ///< of the table
  PrepareOptions prepare = {};
  bool skip_corrupt = false;  ///< leave out files that cannot be decoded
};

nlohmann::json to_json(const PrepareOptions& options);
nlohmann::json to_json(const ImageRequest& request);
/// Read what to_json wrote and check every range; InputError where one is off.
PrepareOptions prepare_options_from(const JsonReader& json);
ImageRequest image_request_from(const JsonReader& json);

}  // namespace kinflow
