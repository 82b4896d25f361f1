// Fuzzes the readers of images: any bytes give an image that can be prepared and
// written, or an InputError of one line.
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "fuzzed.h"
#include "kinflow/images/prepare_image.h"
#include "kinflow/images/read_image.h"
#include "kinflow/images/write_png.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size);

namespace {

using namespace kinflow;
using fuzzed::require;

void check_size(const Image& image) {
  require(image.width > 0 && image.height > 0);
  require(image.width * image.height <= kMostPixels);
  require(image.channels == 1 || image.channels == 3);
  require(std::ssize(image.pixels) == image.width * image.height * image.channels);
}

void check(std::uint8_t choice, std::string_view bytes) {
  const auto image = decode_image(bytes, "f");
  check_size(image);
  if (image.pixels.size() < 100'000) {
    require(decode_image(encode_png(image), "f") == image);
  }
  const PrepareOptions options{.crop = choice & 1 ? 3 : 0,
                               .width = choice & 2 ? 12 : 0,
                               .height = choice & 2 ? 4 : 0,
                               .colors = static_cast<ImageColors>(choice / 4 % 3),
                               .bits = 1 + choice % 8};
  const auto prepared = prepare_image(image, options, "f");
  check_size(prepared);
  for (const auto value : prepared.pixels) require(value >> options.bits == 0);
  require(options.width == 0 || (prepared.width == 12 && prepared.height == 4));
}

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return static_cast<std::uint32_t>(bytes[0]) << 24 | bytes[1] << 16 | bytes[2] << 8 |
         bytes[3];
}

/// Makes the checksums of a PNG's chunks right, so that their content is looked at.
void mend_checksums(std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSignature = 8;
  if (size < kSignature || std::memcmp(data, "\x89PNG", 4) != 0) return;
  for (std::size_t at = kSignature; at + 12 <= size;) {
    const std::size_t length = big_endian(data + at);
    if (length > size - at - 12) return;
    const auto sum = crc32(0, data + at + 4, static_cast<uInt>(length + 4));
    for (int i = 0; i < 4; ++i) {
      data[at + 8 + length + static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    }
    at += length + 12;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  const auto mutated = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 != 0 && mutated > 1) mend_checksums(data + 1, mutated - 1);
  return mutated;
}

/// The first byte chooses how the image is prepared; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzed::Input input(data, size);
  const auto choice = input.choice();
  return fuzzed::answer_or_input_error([&] { check(choice, input.rest()); });
}
