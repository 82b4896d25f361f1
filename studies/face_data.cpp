// Finding, reading and splitting faces.
#include "studies/face_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "kinflow/core/error.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/images/simulate_images.h"
#include "kinflow/images/split_images.h"

namespace kinflow {
namespace {

// As much of LFW's images as faces fill, and the paper's size.
constexpr std::int64_t kCrop = 128, kSide = 32;
constexpr double kValidFraction = 0.14, kTestFraction = 0.14;

std::vector<std::string> arrays_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> arrays;
  for (std::filesystem::directory_iterator entry(folder, error), end; entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (lower_case(name).ends_with(".npy")) arrays.push_back(name);
    if (error) break;
  }
  if (error) {
    throw InputError(
        fmt::format("{}: expected a folder, found none that can be read ({})", folder,
                    error.message()));
  }
  std::sort(arrays.begin(), arrays.end());
  return arrays;
}

// Numbers of the images of the first people.
std::vector<std::int64_t> first_images(const ImageSet& set, std::int64_t most) {
  std::int64_t people = 0, images = 0;
  for (const auto own : images_per_person(set)) {
    if (images + own > most) break;
    images += own;
    ++people;
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < set.images(); ++i) {
    if (set.person[static_cast<std::size_t>(i)] < people) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace

ImageRequest find_faces(const std::string& folder) {
  const auto arrays = arrays_in(folder);
  if (arrays.empty()) {
    return {.path = folder,
            .prepare = {.crop = kCrop,
                        .width = kSide,
                        .height = kSide,
                        .colors = ImageColors::rgb}};
  }
  const auto is_ids = [](const std::string& name) {
    return lower_case(name).find("id") != std::string::npos;
  };
  const auto ids = std::find_if(arrays.begin(), arrays.end(), is_ids);
  const auto images = std::find_if_not(arrays.begin(), arrays.end(), is_ids);
  if (arrays.size() != 2 || ids == arrays.end() || images == arrays.end()) {
    throw InputError(fmt::format(
        "{}: expected two .npy arrays, of images and, with 'id' in its name, of "
        "people, found {}",
        folder, fmt::join(arrays, ", ")));
  }
  return {.path = folder + "/" + *images, .ids = folder + "/" + *ids};
}

Faces read_faces(const std::string& folder, std::int64_t most_images) {
  const auto request = find_faces(folder);
  auto read = read_images(request);
  if (most_images > 0) {
    read.set = select_images(read.set, first_images(read.set, most_images));
  }
  return {.set = std::move(read.set),
          .prepare = request.prepare,
          .notes = read.report.notes()};
}

Faces simulated_faces(std::uint64_t seed) {
  return {.set = simulate_images({.images = 600,
                                  .valid_images = 1,
                                  .test_images = 1,
                                  .side = 8,
                                  .rgb = true,
                                  .largest_person = 20,
                                  .seed = seed})
                     .train};
}

FaceData split_faces(const ImageSet& set, std::uint64_t seed) {
  const auto parts = split_images(
      set,
      {.valid_fraction = kValidFraction, .test_fraction = kTestFraction, .seed = seed});
  FaceData data;
  data.fit.train = select_images(set, parts.train);
  data.fit.valid = select_images(set, parts.valid);
  data.test = select_images(set, parts.test);
  return data;
}

}  // namespace kinflow
