// Reading and splitting images for a fit.
#include "kinflow/fit/images/image_data.h"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string_view>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/shared_rows.h"
#include "kinflow/fit/images/image_fit.h"
#include "kinflow/images/split_images.h"

namespace kinflow {
namespace {

// The model keeps the names of people, and JSON holds UTF-8 only.
void check_people(const ImageSet& set, const std::string& path) {
  for (const auto& person : set.person_of_image) {
    if (is_printable_utf8(person)) continue;
    throw InputError(fmt::format("{}: expected people named by UTF-8 text, found {}",
                                 path, in_quotes(person)));
  }
}

ImageSet read_set(const ImageRequest& request, std::int64_t least_people,
                  ImageFitData& data) {
  auto read = read_images(request, least_people);
  for (auto& note : read.report.notes()) data.notes.push_back(std::move(note));
  check_people(read.set, request.path);
  return std::move(read.set);
}

void check_alike(const ImageFitData& data, const ImageFitRequest& request) {
  const auto& train = data.train;
  const auto& valid = data.valid;
  if (train.channels == valid.channels && train.height == valid.height &&
      train.width == valid.width) {
    return;
  }
  throw InputError(fmt::format(
      "{}: expected images of {} x {} x {} values as in {}, found {} x {} x {}",
      request.valid.path, train.channels, train.height, train.width, request.data.path,
      valid.channels, valid.height, valid.width));
}

void warn_of_shared_people(ImageFitData& data) {
  const auto& train = data.train.person_of_image;
  const std::set<std::string> known(train.begin(), train.end());
  std::set<std::string> shared;
  for (const auto& person : data.valid.person_of_image) {
    if (known.contains(person)) shared.insert(person);
  }
  if (shared.empty()) return;
  data.warnings.push_back(fmt::format(
      "{} of the validation images {} also in the training images, {} first: "
      "validation flatters what is learned by heart",
      counted(shared.size(), "person", "people"), shared.size() == 1 ? "is" : "are",
      in_quotes(*shared.begin())));
}

std::vector<std::uint64_t> image_hashes(const ImageSet& set) {
  const auto size = static_cast<std::size_t>(set.channels * set.height * set.width);
  const auto* bytes = reinterpret_cast<const char*>(set.pixels.data());
  std::vector<std::uint64_t> hashes;
  for (std::int64_t image = 0; image < set.images(); ++image, bytes += size) {
    hashes.push_back(std::hash<std::string_view>()({bytes, size}));
  }
  return hashes;
}

void check_other_images(const ImageFitRequest& request, ImageFitData& data) {
  const auto found =
      find_shared_rows(image_hashes(data.valid), image_hashes(data.train));
  const auto count = data.valid.images();
  if (found.are_all_the_same) {
    throw InputError(fmt::format(
        "--valid: expected other images than the training images {}, found the same "
        "{} in {}; without --valid a part of the people is held out",
        request.data.path, counted(count, "image"), request.valid.path));
  }
  if (found.shared == 0 || !found.are_more_than_chance) return;
  data.warnings.push_back(fmt::format(
      "{} of {} are training images too: the validation NLL is too low, and favours "
      "flows that learn images by heart",
      found.shared, counted(count, "validation image")));
}

}  // namespace

ImageFitData read_fit_images(const ImageFitRequest& request) {
  ImageFitData data;
  data.train = read_set(request.data, 2, data);
  if (!request.valid.path.empty()) {
    data.valid = read_set(request.valid, 1, data);
    check_alike(data, request);
    check_other_images(request, data);
    warn_of_shared_people(data);
    return data;
  }
  const auto parts = split_images(data.train, {.valid_fraction = request.valid_fraction,
                                               .seed = request.train.seed});
  data.valid = select_images(data.train, parts.valid);
  data.train = select_images(data.train, parts.train);
  data.holds_people_out = true;
  return data;
}

std::string set_hash(const ImageSet& set) {
  ByteHash hash;
  hash.add(fmt::format("{} {} {} {};", set.channels, set.height, set.width, set.bits));
  hash.add({reinterpret_cast<const char*>(set.pixels.data()), set.pixels.size()});
  for (const auto& person : set.person_of_image) hash.add(person + "\n");
  return hash.text();
}

}  // namespace kinflow
