// From files of images to the sets that a training needs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kinflow/images/image_set.h"

namespace kinflow {

struct ImageFitRequest;

/// Training and validation images of one shape, of different people unless the user's
/// own validation images say otherwise.
struct ImageFitData {
  ImageSet train;
  ImageSet valid;
  bool holds_people_out = false;   ///< the validation images are a part of the user's
  std::vector<std::string> notes;  ///< lines for the user
  std::vector<std::string> warnings;  ///< the same, of doubtful things
};

/// Reads, checks and splits. Throws InputError; writes nothing.
ImageFitData read_fit_images(const ImageFitRequest& request);

/// "fnv1a64:0123456789abcdef" of a set's pixels and people.
std::string set_hash(const ImageSet& set);

}  // namespace kinflow
