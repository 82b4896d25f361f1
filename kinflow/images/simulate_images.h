// Images of people with a known law: who somebody is decides most of a picture, and a
// few people have most of the pictures.
#pragma once

#include <cstdint>
#include <string>

#include "kinflow/core/result_files.h"
#include "kinflow/images/image_set.h"

namespace kinflow {

struct SimulateImagesOptions {
  std::int64_t images = 4000;  ///< of the training set; at least 2
  std::int64_t valid_images = 1000;
  std::int64_t test_images = 2000;
  std::int64_t side = 12;  ///< of the square images: a multiple of 4 from 8 to 64
  bool rgb = false;
  /// Share of variance that the images of a person have in common, in 0 to 1.
  double identity_share = 0.7;
  /// Most training images of a person; at most all but one are taken.
  std::int64_t largest_person = 200;
  std::uint64_t seed = 0;
};

/// Training images are of people with very different numbers of images; of validation
/// and test each image is of a person of its own. No two parts share an id.
struct SimulatedImages {
  SimulateImagesOptions options;
  ImageSet train;
  ImageSet valid;
  ImageSet test;
};

/// A bright or dark shape on a shaded ground, of 8 bits. Standard normal numbers decide
/// its place (two), size, form (from diamond over disc to square) and tone, the
/// ground's tone and slope (two), the light on everything, and the grain of every
/// pixel; in RGB both tones are three numbers. Each number is sqrt(s) a + sqrt(1 - s) b
/// with the identity share s, a of the person and b of the image. So the law of one
/// image of a random person does not depend on s, and of two images of one person every
/// number has correlation s. Numbers of images are those of draw_block_sizes(). The
/// result depends on the options only. InputError for options outside their ranges.
SimulatedImages simulate_images(const SimulateImagesOptions& options);

/// Images of the same law, each of a new person.
/// @param draw  from 0; draws are independent of each other and of simulate_images()
ImageSet balanced_images(const SimulateImagesOptions& options, std::int64_t images,
                         std::int64_t draw);

/// Writes train, valid and test as folders with a folder for each person, PNG files in
/// them (as read_images() takes them), and truth.json, last, into a folder that must be
/// new or hold only what is `replaced`. InputError where that fails; then no new folder
/// remains.
void write_simulated_images(const std::string& directory,
                            const SimulatedImages& simulation,
                            const ResultFiles& replaced = {});
/// All files and folders that such a folder has.
ResultFiles simulated_image_files(const std::string& directory);

}  // namespace kinflow
