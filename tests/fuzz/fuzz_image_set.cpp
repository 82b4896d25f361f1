// Fuzzes the readers of sets of images: any array and any table or array of ids give
// images with their people or an InputError of one line.
#include <cstdint>
#include <string>

#include "fuzzed.h"
#include "kinflow/images/image_set.h"
#include "kinflow/images/write_png.h"

namespace {

using namespace kinflow;
using fuzzed::require;

void check(const ImageRequest& request) {
  const auto read = read_images(request);
  const auto& set = read.set;
  require(set.images() > 0 && set.people() >= 2);
  require(std::ssize(set.pixels) == set.images() * set.dimension());
  require(std::ssize(set.person_of_image) == set.images());
  for (const auto person : set.person) require(person >= 0 && person < set.people());
  for (const auto value : set.pixels) require(value >> set.bits == 0);
  require(set.files.empty() || std::ssize(set.files) == set.images());
  for (const auto& note : read.report.notes()) require(is_printable_utf8(note));
}

/// Four images, a.png to d.png.
void write_images(const fuzzed::Folder& folder) {
  std::filesystem::create_directories(folder.path("images"));
  for (const char name : std::string("abcd")) {
    Image image;
    image.width = 8;
    image.height = 4;
    image.channels = 1;
    image.pixels.assign(32, static_cast<std::uint8_t>(name));
    folder.write(std::string("images/") + name + ".png", encode_png(image));
  }
}

}  // namespace

/// The first byte chooses between an array and a folder, and how images are prepared;
/// then come the ids, and the array.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  static const bool are_written = (write_images(folder), true);
  require(are_written);
  fuzzed::Input input(data, size);
  const auto choice = input.choice();
  ImageRequest request;
  request.ids = folder.write(choice & 1 ? "ids.npy" : "ids.csv", input.file());
  request.path =
      choice & 2 ? folder.path("images") : folder.write("images.npy", input.rest());
  request.prepare.width = request.prepare.height = choice & 4 ? 8 : 0;
  request.prepare.bits = 1 + choice / 8 % 8;
  return fuzzed::answer_or_input_error([&] { check(request); });
}
