// Where images come from: each of the three layouts as a list that can be loaded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kinflow/images/image_request.h"
#include "kinflow/images/image_set.h"

namespace kinflow {

/// Images that have not been read yet, in the order of the set.
struct ImageSource {
  std::vector<std::string> person_of_image;  ///< [n]
  std::vector<std::string> files;            ///< [n]; empty for an array
  /// Name of an image in messages.
  std::function<std::string(std::int64_t image)> name;
  /// The bytes of an image, and the image that they are. Threads may load at a time.
  /// Both throw InputError; only what decode() throws is damage of one file.
  std::function<std::string(std::int64_t image)> bytes;
  std::function<Image(const std::string& bytes, std::int64_t image)> decode;
};

/// A folder for each person.
ImageSource images_in_person_folders(const ImageRequest& request, ImageReport& report);
/// One folder, and a table of ids.
ImageSource images_of_table(const ImageRequest& request, ImageReport& report);
/// An .npy array, and ids.
ImageSource images_of_array(const ImageRequest& request);

}  // namespace kinflow
