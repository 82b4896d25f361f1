// Faces of people as a study takes them: read, and split by person.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/fit/images/image_data.h"
#include "kinflow/images/image_set.h"

namespace kinflow {

/// All images of a study.
struct Faces {
  ImageSet set;
  PrepareOptions prepare = {};
  std::vector<std::string> notes = {};  ///< about what was read
};

/// Images of different people to train, to validate and to test.
struct FaceData {
  ImageFitData fit;
  ImageSet test;
};

/// What images a folder holds: one .npy array of images and one with "id" in its name,
/// which are taken as they are; or a folder for each person, as LFW has them, of whose
/// images a square of 128 pixels around the centre is scaled to 32 x 32. InputError
/// where it is neither.
ImageRequest find_faces(const std::string& folder);

/// Reads the faces of a folder.
/// @param most_images  whole people in the order of the set as long as there are no
///                     more images; 0: all
Faces read_faces(const std::string& folder, std::int64_t most_images = 0);

/// What is to be said of the next.
inline constexpr const char* kSimulatedFaces =
    "Without --data the faces are simulated images, not LFW.";
/// Simulated images of 8 x 8 pixels in their place, for a trial.
Faces simulated_faces(std::uint64_t seed);

/// 72% of the images to train, 14% to validate and 14% to test, whole people each.
/// InputError where a part has no people.
FaceData split_faces(const ImageSet& set, std::uint64_t seed);

}  // namespace kinflow
