// Images of people, several of some: the data of an image flow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kinflow/images/image.h"
#include "kinflow/images/image_request.h"

namespace kinflow {

/// n images of one size, each of a person.
struct ImageSet {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t bits = 8;                          ///< values are below 2^bits
  std::vector<std::uint8_t> pixels = {};          ///< [n][channels][height][width]
  std::vector<std::string> person_of_image = {};  ///< [n] ids
  /// [n] from 0, in the order of first appearance
  std::vector<std::int64_t> person = {};
  std::vector<std::string> files = {};  ///< [n] below the folder; empty for an array

  std::int64_t images() const { return static_cast<std::int64_t>(person.size()); }
  std::int64_t people() const;
  /// Values of one image.
  std::int64_t dimension() const { return channels * height * width; }
  std::span<const std::uint8_t> pixels_of(std::int64_t image) const;
};

/// [people] The images of each person, in the order of the set.
std::vector<std::vector<std::int64_t>> images_by_person(const ImageSet& set);
/// [people] How many images each person has.
std::vector<std::int64_t> images_per_person(const ImageSet& set);
/// [people] Ids.
std::vector<std::string> names_of_people(const ImageSet& set);

/// An image of a set, its values as they are (below 2^bits).
Image image_of(const ImageSet& set, std::int64_t image);

/// Puts an image of the set's size and channels in the place of number `image`.
void put_image(ImageSet& set, std::int64_t image, const Image& from);

/// Some images of a set, in the given order; their people are numbered anew.
ImageSet select_images(const ImageSet& set, const std::vector<std::int64_t>& images);

/// What was left out, for the user.
struct ImageReport {
  struct Skipped {
    std::string file;
    std::string why;
  };
  std::vector<Skipped> skipped;  ///< files that cannot be decoded, with skip_corrupt
  std::vector<std::string> ignored;  ///< hidden files, and names that are no image's
  std::vector<std::string> empty_folders;  ///< persons without images

  /// A line for each kind, with its number and the first few names; none where nothing
  /// was left out.
  std::vector<std::string> notes() const;
};

struct ReadImages {
  ImageSet set;
  ImageReport report;
};

/// Reads and prepares images with the process's team (core/workers.h). Folders are in
/// the order of their names, byte by byte, by folder and then by file; arrays in their
/// own. Every thread holds one file and its pixels at a time besides the set.
///
/// InputError, with the file and what was expected and found, for
/// - a folder without images, files beside the folders of people, folders in them;
/// - an image that cannot be decoded, unless such are skipped (the first by order);
/// - images of several sizes without one to resize to, sides that are no multiple of 4,
///   grey and RGB images where no colours are asked for;
/// - a table of ids in which an image or a file is missing or stands twice;
/// - an array of another type or shape, or in Fortran order; ids of another number;
/// - fewer than `least_people` people.
ReadImages read_images(const ImageRequest& request, std::int64_t least_people = 2);

}  // namespace kinflow
