// Splits by person, and one image of each.
#include "kinflow/images/split_images.h"

#include <algorithm>

#include "kinflow/core/random.h"

namespace kinflow {

Split split_images(const ImageSet& set, const ImageSplitOptions& options) {
  return split(set.images(), {.by = SplitBy::group,
                              .valid_fraction = options.valid_fraction,
                              .test_fraction = options.test_fraction,
                              .seed = options.seed,
                              .block_of_row = set.person});
}

std::vector<std::int64_t> one_image_per_person(const ImageSet& set,
                                               std::uint64_t seed) {
  const auto images_of = images_by_person(set);
  // A stream of its own for each person: what is drawn for one does not depend on
  // others.
  std::vector<std::int64_t> chosen;
  for (std::size_t person = 0; person < images_of.size(); ++person) {
    const auto& images = images_of[person];
    Random random(seed, stream(Purpose::split, 1 + static_cast<std::int64_t>(person)));
    chosen.push_back(
        images[static_cast<std::size_t>(random.below(std::ssize(images)))]);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace kinflow
