// The choice of a decoder by the first bytes.
#include "kinflow/images/read_image.h"

#include <fmt/format.h>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/images/image_decoders.h"

namespace kinflow {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n"sv;
constexpr std::string_view kJpegStart = "\xff\xd8\xff"sv;

/// What stands in a file that is neither PNG nor JPEG.
std::string name_of_content(std::string_view bytes) {
  if (bytes.empty()) return "an empty file";
  if (bytes.starts_with("GIF8"sv)) return "a GIF";
  if (bytes.starts_with("BM"sv)) return "a BMP";
  if (bytes.starts_with("II*\0"sv) || bytes.starts_with("MM\0*"sv)) return "a TIFF";
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) {
    return "a WebP";
  }
  return "a file that starts with " + in_quotes(bytes.substr(0, 8));
}

}  // namespace

void check_image_size(std::uint64_t width, std::uint64_t height,
                      const std::string& source) {
  const auto most = static_cast<std::uint64_t>(kMostPixels);
  if (width > 0 && height > 0 && width <= most && height <= most / width) return;
  throw InputError(fmt::format("{}: expected 1 to {} pixels, found {} x {}", source,
                               most, width, height));
}

Image decode_image(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with(kPngStart)) return decode_png(bytes, source);
  if (bytes.starts_with(kJpegStart)) return decode_jpeg(bytes, source);
  // The start of a start: nothing but a cut can have made it.
  if (!bytes.empty() &&
      (kPngStart.starts_with(bytes) || kJpegStart.starts_with(bytes))) {
    throw InputError(
        fmt::format("{}: expected a whole image, found a truncated file of {} bytes",
                    source, bytes.size()));
  }
  throw InputError(fmt::format("{}: expected a PNG or a JPEG image, found {}", source,
                               name_of_content(bytes)));
}

}  // namespace kinflow
