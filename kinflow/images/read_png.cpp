// PNG by libpng, whose errors are jumps: between setjmp() and a jump there is no object
// with a destructor.
#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <memory>
#include <new>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/images/image_decoders.h"

namespace kinflow {
namespace {

// Deflate makes at most so many bytes of one.
constexpr std::uint64_t kMostInflation = 1040;

/// What the functions that libpng calls back share with the decoder.
struct PngState {
  std::string_view left;  // bytes that libpng has not asked for
  char message[200] = "";
  bool ended_early = false;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::uint8_t* pixels = nullptr;  // [height][row_bytes]
  std::size_t row_bytes = 0;

  PngState() = default;
  PngState(const PngState&) = delete;
  PngState& operator=(const PngState&) = delete;
  ~PngState() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void jump_on_error(png_structp png, png_const_charp message) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state.message, message, sizeof(state.message) - 1);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void give_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (state.left.size() < count) {
    state.ended_early = true;
    png_error(png, "the file ends before its image does");
  }
  std::memcpy(to, state.left.data(), count);
  state.left.remove_prefix(count);
}

/// Calls step(state); false where libpng jumped out of it.
[[gnu::noinline]] bool attempt(void (*step)(PngState&), PngState& state) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  step(state);
  return true;
}

void read_header(PngState& state) {
  // Of all chunks only those that the pixels need are looked at.
  png_set_keep_unknown_chunks(state.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_user_limits(state.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(state.png, state.info);
}

void ask_for_8_bits_without_alpha(PngState& state) {
  png_set_expand(state.png);
  png_set_strip_alpha(state.png);
  png_set_interlace_handling(state.png);
  png_read_update_info(state.png, state.info);
  state.row_bytes = png_get_rowbytes(state.png, state.info);
}

void read_rows(PngState& state) {
  const int passes =
      png_get_interlace_type(state.png, state.info) == PNG_INTERLACE_NONE ? 1 : 7;
  const png_uint_32 height = png_get_image_height(state.png, state.info);
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) {
      png_read_row(state.png, state.pixels + y * state.row_bytes, nullptr);
    }
  }
  png_read_end(state.png, nullptr);
}

[[noreturn]] void fail(const PngState& state, const std::string& source) {
  if (state.ended_early) {
    throw InputError(source + ": expected a whole PNG, found a truncated file");
  }
  throw InputError(fmt::format("{}: expected a PNG that can be read, found damage ({})",
                               source, in_quotes(state.message, 120)));
}

/// An animation says so in a chunk before its first image.
bool is_animated(std::string_view bytes) {
  constexpr std::size_t kSignature = 8, kAroundChunk = 12;
  bytes.remove_prefix(kSignature);
  while (bytes.size() >= kAroundChunk) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      length = 256 * length + static_cast<unsigned char>(bytes[i]);
    }
    const auto type = bytes.substr(4, 4);
    if (type == "acTL") return true;
    if (type == "IDAT" || bytes.size() - kAroundChunk < length) return false;
    bytes.remove_prefix(length + kAroundChunk);
  }
  return false;
}

}  // namespace

Image decode_png(std::string_view bytes, const std::string& source) {
  PngState state;
  state.left = bytes;
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, jump_on_error,
                                     ignore_warning);
  if (state.png != nullptr) state.info = png_create_info_struct(state.png);
  if (state.info == nullptr) throw std::bad_alloc();
  png_set_read_fn(state.png, &state, give_bytes);
  if (!attempt(read_header, state)) fail(state, source);

  const std::uint64_t width = png_get_image_width(state.png, state.info);
  const std::uint64_t height = png_get_image_height(state.png, state.info);
  const unsigned depth = png_get_bit_depth(state.png, state.info);
  const unsigned stored = png_get_channels(state.png, state.info);
  check_image_size(width, height, source);
  if (depth > 8) {
    throw InputError(fmt::format(
        "{}: expected a PNG of at most 8 bits a channel, found {}", source, depth));
  }
  if (is_animated(bytes)) {
    throw InputError(source + ": expected a PNG of one image, found an animated one");
  }
  if (height * ((width * stored * depth + 7) / 8) / kMostInflation > bytes.size()) {
    throw InputError(fmt::format(
        "{}: expected a whole PNG, found a truncated file: {} bytes for {} x {} pixels",
        source, bytes.size(), width, height));
  }
  if (!attempt(ask_for_8_bits_without_alpha, state)) fail(state, source);
  auto image =
      blank_image(static_cast<std::int64_t>(width), static_cast<std::int64_t>(height),
                  png_get_channels(state.png, state.info));
  if (state.row_bytes * height != image.pixels.size()) {
    throw InputError(source + ": expected grey or RGB pixels, found others");
  }
  state.pixels = image.pixels.data();
  if (!attempt(read_rows, state)) fail(state, source);
  return image;
}

}  // namespace kinflow
