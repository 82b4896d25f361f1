// Parts of a set of images by person.
#pragma once

#include <cstdint>
#include <vector>

#include "kinflow/data/split.h"
#include "kinflow/images/image_set.h"

namespace kinflow {

struct ImageSplitOptions {
  double valid_fraction = 0.15;  ///< of all images; 0: no such part
  double test_fraction = 0;      ///< of all images; 0: no such part
  std::uint64_t seed = 0;
};

/// Whole people to training, validation and test, as split() does by group: people come
/// in random order, and one with so many images that a part would grow much too large
/// is passed over. InputError where there are fewer people than parts.
Split split_images(const ImageSet& set, const ImageSplitOptions& options);

/// One image of each person at random, in the order of the set ("indiv" of the paper).
std::vector<std::int64_t> one_image_per_person(const ImageSet& set, std::uint64_t seed);

}  // namespace kinflow
