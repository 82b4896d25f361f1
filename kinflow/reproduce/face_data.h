// Faces of people as a study takes them: read, and split by person.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/images/image_set.h"
#include "kinflow/train/images/image_data.h"

namespace kinflow {

/// Images of different people to train, to validate and to test.
struct FaceData {
  ImageFitData fit;
  ImageSet test;
  PrepareOptions prepare;
  std::string hash;  ///< of all images and people
};

/// What images a folder holds: one .npy array of images and one with "id" in its name,
/// which are taken as they are; or a folder for each person, as LFW has them, of whose
/// images a square of 128 pixels around the centre is scaled to 32 x 32. InputError
/// where it is neither.
ImageRequest find_faces(const std::string& folder);

/// Reads the faces of a folder and splits them: 72% of the images to train, 14% to
/// validate and 14% to test. InputError where a part has no people.
/// @param most_images  whole people in the order of the set as long as there are no
///                     more images; 0: all
FaceData read_faces(const std::string& folder, std::uint64_t seed,
                    std::int64_t most_images = 0);

/// What is to be said of the next.
inline constexpr const char* kSimulatedFaces =
    "Without --data the faces are simulated images, not LFW.";
/// The same of simulated images of 8 x 8 pixels, for a trial.
FaceData simulated_faces(std::uint64_t seed);

}  // namespace kinflow
