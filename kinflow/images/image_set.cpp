// Sets of images, and reading them by several threads.
#include "kinflow/images/image_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/memory.h"
#include "kinflow/core/workers.h"
#include "kinflow/data/table.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/images/image_sources.h"
#include "kinflow/images/list_names.h"

namespace kinflow {
namespace {

ImageSource open_source(const ImageRequest& request, ImageReport& report) {
  std::error_code error;
  if (!std::filesystem::is_directory(request.path, error)) {
    if (lower_case(request.path).ends_with(".npy")) return images_of_array(request);
    const bool exists = std::filesystem::exists(request.path, error);
    throw InputError(fmt::format(
        "{}: expected a folder of images or an .npy array, {}", request.path,
        exists ? "found another file" : "found nothing there"));
  }
  return request.ids.empty() ? images_in_person_folders(request, report)
                             : images_of_table(request, report);
}

void check_request(const ImageRequest& request) {
  image_request_from(JsonReader(to_json(request), "images"));
  const auto& prepare = request.prepare;
  const auto is_side = [](std::int64_t side) {
    return side > 0 && side % kSideMultiple == 0;
  };
  const bool keeps_size = prepare.width == 0 && prepare.height == 0;
  if (keeps_size || (is_side(prepare.width) && is_side(prepare.height))) return;
  throw InputError(
      fmt::format("--size: expected sides that are multiples of {}, found {} x {}",
                  kSideMultiple, prepare.width, prepare.height));
}

/// What stands for a file that was skipped is no image.
using MaybeImage = std::optional<Image>;

/// Reads, decodes and prepares image after image of a source, also on several threads.
class Loader {
 public:
  Loader(const ImageRequest& request, const ImageSource& source)
      : request_(request),
        source_(source),
        why_skipped_(source.person_of_image.size()) {}

  std::string name(std::int64_t image) const { return source_.name(image); }

  MaybeImage load(std::int64_t image) {
    const auto bytes = source_.bytes(image);
    MaybeImage decoded;
    try {
      decoded = source_.decode(bytes, image);
    } catch (const InputError& error) {
      if (!request_.skip_corrupt) throw;
      why_skipped_[static_cast<std::size_t>(image)] = error.what();
      return {};
    }
    return prepare_image(std::move(*decoded), request_.prepare, name(image));
  }

  /// Why an image was skipped; empty where it was not.
  const std::string& why_skipped(std::int64_t image) const {
    return why_skipped_[static_cast<std::size_t>(image)];
  }

 private:
  const ImageRequest& request_;
  const ImageSource& source_;
  std::vector<std::string> why_skipped_;  // [n]
};

/// The first image that can be decoded, which all others must be like.
struct Pattern {
  std::int64_t number = 0;
  Image image;
};

Pattern find_pattern(Loader& loader, std::int64_t images, const std::string& path) {
  for (std::int64_t i = 0; i < images; ++i) {
    if (auto image = loader.load(i)) return {.number = i, .image = std::move(*image)};
  }
  throw InputError(
      fmt::format("{}: expected images, found none that can be decoded; the first: {}",
                  path, loader.why_skipped(0)));
}

void check_sides(const Image& image, const ImageRequest& request) {
  if (image.width % kSideMultiple == 0 && image.height % kSideMultiple == 0) return;
  throw InputError(fmt::format(
      "{}: expected images whose sides are multiples of {}, found {} x {}; --size "
      "resizes them",
      request.path, kSideMultiple, image.width, image.height));
}

void check_like(const Image& image, const std::string& name, const Image& pattern,
                const std::string& pattern_name) {
  if (image.width != pattern.width || image.height != pattern.height) {
    throw InputError(fmt::format(
        "{}: expected {} x {} pixels as in {}, found {} x {}; --size makes them alike",
        name, pattern.width, pattern.height, pattern_name, image.width, image.height));
  }
  if (image.channels != pattern.channels) {
    const auto shown = [](const Image& i) { return i.channels == 1 ? "grey" : "RGB"; };
    throw InputError(fmt::format(
        "{}: expected {} as {} is, found {}; --grey or --rgb makes them alike", name,
        shown(pattern), pattern_name, shown(image)));
  }
}

/// Calls work(i) for 0 .. n - 1 on the process's team. The exception of the lowest i
/// that fails is thrown; everything below it has been called.
template <typename Work>
void for_each_in_parallel(std::int64_t n, const Work& work) {
  std::atomic<std::int64_t> first_failed = std::numeric_limits<std::int64_t>::max();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(n));
  shared_workers().run(n, [&](std::int64_t i, std::int64_t) {
    if (i > first_failed) return;
    try {
      work(i);
    } catch (...) {
      errors[static_cast<std::size_t>(i)] = std::current_exception();
      auto known = first_failed.load();
      while (i < known && !first_failed.compare_exchange_weak(known, i)) {
      }
    }
  });
  if (first_failed < n) {
    std::rethrow_exception(errors[static_cast<std::size_t>(first_failed.load())]);
  }
}

void number_people(ImageSet& set) {
  set.person = number_blocks(set.person_of_image).block_of_row;
}

/// -9 in ids stands for people who are not known, and these are not one person.
void check_people(const ImageSource& source, const ImageRequest& request) {
  if (request.ids.empty()) return;
  const auto& people = source.person_of_image;
  const auto found = std::find(people.begin(), people.end(), "-9");
  if (found == people.end()) return;
  throw InputError(fmt::format(
      "{}: expected a person for {}, found -9, which stands for a missing value; leave "
      "such images out, or give each an id of its own",
      request.ids, source.name(found - people.begin())));
}

/// A set of n images that are black.
ImageSet blank_set(const ImageSource& source, const Image& pattern,
                   const ImageRequest& request) {
  const auto n = source.person_of_image.size();
  require_memory(static_cast<double>(n) * static_cast<double>(pattern.pixels.size()),
                 request.path + ":", counted(n, "image"),
                 "a smaller --size needs less");
  ImageSet set{.channels = pattern.channels,
               .height = pattern.height,
               .width = pattern.width,
               .bits = request.prepare.bits,
               .pixels = std::vector<std::uint8_t>(n * pattern.pixels.size()),
               .person_of_image = source.person_of_image,
               .files = source.files};
  number_people(set);
  return set;
}

/// Takes skipped images out of the set and into the report.
void leave_out_skipped(const Loader& loader, ImageSet& set, ImageReport& report) {
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < set.images(); ++i) {
    if (loader.why_skipped(i).empty()) {
      kept.push_back(i);
    } else {
      report.skipped.push_back({.file = loader.name(i), .why = loader.why_skipped(i)});
    }
  }
  if (std::ssize(kept) < set.images()) set = select_images(set, kept);
}

}  // namespace

std::int64_t ImageSet::people() const {
  return person.empty() ? 0 : 1 + *std::max_element(person.begin(), person.end());
}

std::span<const std::uint8_t> ImageSet::pixels_of(std::int64_t image) const {
  const auto size = static_cast<std::size_t>(dimension());
  return {pixels.data() + static_cast<std::size_t>(image) * size, size};
}

std::vector<std::vector<std::int64_t>> images_by_person(const ImageSet& set) {
  std::vector<std::vector<std::int64_t>> images(static_cast<std::size_t>(set.people()));
  for (std::int64_t i = 0; i < set.images(); ++i) {
    const auto person = set.person[static_cast<std::size_t>(i)];
    images[static_cast<std::size_t>(person)].push_back(i);
  }
  return images;
}

std::vector<std::int64_t> images_per_person(const ImageSet& set) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(set.people()));
  for (const auto person : set.person) ++counts[static_cast<std::size_t>(person)];
  return counts;
}

std::vector<std::string> names_of_people(const ImageSet& set) {
  std::vector<std::string> names(static_cast<std::size_t>(set.people()));
  for (std::size_t i = 0; i < set.person.size(); ++i) {
    names[static_cast<std::size_t>(set.person[i])] = set.person_of_image[i];
  }
  return names;
}

Image image_of(const ImageSet& set, std::int64_t image) {
  auto result = blank_image(set.width, set.height, set.channels);
  const auto from = set.pixels_of(image);
  const auto channels = static_cast<std::size_t>(set.channels);
  const auto area = from.size() / channels;
  for (std::size_t i = 0; i < from.size(); ++i) {
    result.pixels[i] = from[i % channels * area + i / channels];
  }
  return result;
}

void put_image(ImageSet& set, std::int64_t image, const Image& from) {
  const auto channels = static_cast<std::size_t>(set.channels);
  const auto size = static_cast<std::size_t>(set.dimension());
  auto* to = set.pixels.data() + static_cast<std::size_t>(image) * size;
  for (std::size_t i = 0; i < size; ++i) {
    to[i % channels * (size / channels) + i / channels] = from.pixels[i];
  }
}

ImageSet select_images(const ImageSet& set, const std::vector<std::int64_t>& images) {
  ImageSet part{.channels = set.channels,
                .height = set.height,
                .width = set.width,
                .bits = set.bits};
  part.pixels.reserve(images.size() * static_cast<std::size_t>(set.dimension()));
  for (const auto i : images) {
    const auto pixels = set.pixels_of(i);
    part.pixels.insert(part.pixels.end(), pixels.begin(), pixels.end());
    const auto at = static_cast<std::size_t>(i);
    part.person_of_image.push_back(set.person_of_image[at]);
    if (!set.files.empty()) part.files.push_back(set.files[at]);
  }
  number_people(part);
  return part;
}

std::vector<std::string> ImageReport::notes() const {
  std::vector<std::string> lines;
  if (!skipped.empty()) {
    lines.push_back(fmt::format("{} skipped that cannot be decoded; the first: {}",
                                counted(skipped.size(), "image"), skipped.front().why));
  }
  if (!ignored.empty()) {
    lines.push_back(fmt::format("{} ignored, not named as images: {}",
                                counted(ignored.size(), "file"), first_names(ignored)));
  }
  if (!empty_folders.empty()) {
    lines.push_back(fmt::format("{} without images: {}",
                                counted(empty_folders.size(), "folder"),
                                first_names(empty_folders)));
  }
  return lines;
}

ReadImages read_images(const ImageRequest& request, std::int64_t least_people) {
  check_request(request);
  ReadImages result;
  const auto source = open_source(request, result.report);
  check_people(source, request);
  const auto n = std::ssize(source.person_of_image);
  Loader loader(request, source);
  const auto pattern = find_pattern(loader, n, request.path);
  check_sides(pattern.image, request);
  auto& set = result.set;
  set = blank_set(source, pattern.image, request);
  for_each_in_parallel(n, [&](std::int64_t i) {
    const auto image = loader.load(i);
    if (!image) return;
    check_like(*image, loader.name(i), pattern.image, loader.name(pattern.number));
    put_image(set, i, *image);
  });
  leave_out_skipped(loader, set, result.report);
  if (set.people() < least_people) {
    throw InputError(fmt::format("{}: expected images of at least {} people, found {}",
                                 request.path, least_people, set.people()));
  }
  return result;
}

}  // namespace kinflow
