// JPEG by libjpeg, whose errors are jumps: between setjmp() and a jump there is no
// object with a destructor.
#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
// clang-format off: jpeglib.h needs <cstdio> before it, and jerror.h needs jpeglib.h
#include <jerror.h>
#include <jpeglib.h>
// clang-format on

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/images/image_decoders.h"

namespace kinflow {
namespace {

// A progressive file has a dozen scans; each costs a walk over the whole image.
constexpr int kMostScans = 100;
// Every block of 8 x 8 pixels takes at least a bit in Huffman codes; up to 4 of them
// can share one where channels are subsampled differently.
constexpr std::uint64_t kMostPixelsOfByte = 2048;

/// What the functions that libjpeg calls back share with the decoder.
struct JpegState {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = "";
  bool ended_early = false;
  std::string_view bytes;
  std::uint8_t* pixels = nullptr;  // [height][row_bytes]
  std::size_t row_bytes = 0;

  JpegState() = default;
  JpegState(const JpegState&) = delete;
  JpegState& operator=(const JpegState&) = delete;
  ~JpegState() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void jump_on_error(j_common_ptr jpeg) {
  auto& state = *static_cast<JpegState*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, state.message);
  const int code = jpeg->err->msg_code;
  state.ended_early =
      code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JERR_INPUT_EOF;
  std::longjmp(state.jump, 1);
}

/// libjpeg goes on with grey where data are missing or make no sense; here that is an
/// error. Warnings that leave every pixel as it was meant pass.
void jump_on_damage(j_common_ptr jpeg, int level) {
  const bool is_warning = level < 0;
  const int code = jpeg->err->msg_code;
  const bool is_harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR ||
                           code == JWRN_ADOBE_XFORM;
  if (is_warning && !is_harmless) jump_on_error(jpeg);
}

void jump_on_many_scans(j_common_ptr jpeg) {
  auto& state = *static_cast<JpegState*>(jpeg->client_data);
  if (state.jpeg.input_scan_number <= kMostScans) return;
  std::snprintf(state.message, sizeof(state.message), "more than %d scans", kMostScans);
  std::longjmp(state.jump, 1);
}

/// Calls step(state); false where libjpeg jumped out of it.
[[gnu::noinline]] bool attempt(void (*step)(JpegState&), JpegState& state) {
  if (setjmp(state.jump)) return false;
  step(state);
  return true;
}

void read_header(JpegState& state) {
  jpeg_create_decompress(&state.jpeg);
  state.jpeg.progress = &state.progress;
  jpeg_mem_src(&state.jpeg, reinterpret_cast<const unsigned char*>(state.bytes.data()),
               static_cast<unsigned long>(state.bytes.size()));
  jpeg_read_header(&state.jpeg, TRUE);
}

void read_rows(JpegState& state) {
  jpeg_start_decompress(&state.jpeg);
  while (state.jpeg.output_scanline < state.jpeg.output_height) {
    JSAMPROW row = state.pixels + state.jpeg.output_scanline * state.row_bytes;
    jpeg_read_scanlines(&state.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&state.jpeg);
}

[[noreturn]] void fail(const JpegState& state, const std::string& source) {
  if (state.ended_early) {
    throw InputError(source + ": expected a whole JPEG, found a truncated file");
  }
  throw InputError(
      fmt::format("{}: expected a JPEG that can be read, found damage ({})", source,
                  in_quotes(state.message, 120)));
}

}  // namespace

Image decode_jpeg(std::string_view bytes, const std::string& source) {
  JpegState state;
  state.bytes = bytes;
  state.jpeg.err = jpeg_std_error(&state.errors);
  state.jpeg.client_data = &state;
  state.errors.error_exit = jump_on_error;
  state.errors.emit_message = jump_on_damage;
  state.progress.progress_monitor = jump_on_many_scans;
  if (!attempt(read_header, state)) fail(state, source);

  const std::uint64_t width = state.jpeg.image_width;
  const std::uint64_t height = state.jpeg.image_height;
  check_image_size(width, height, source);
  const auto stored = state.jpeg.jpeg_color_space;
  if (stored != JCS_GRAYSCALE && stored != JCS_YCbCr && stored != JCS_RGB) {
    throw InputError(
        fmt::format("{}: expected a grey or RGB JPEG, found {}", source,
                    stored == JCS_CMYK || stored == JCS_YCCK
                        ? "CMYK"
                        : fmt::format("{} channels", state.jpeg.num_components)));
  }
  if (!state.jpeg.arith_code && width * height / kMostPixelsOfByte > bytes.size()) {
    throw InputError(
        fmt::format("{}: expected a whole JPEG, found a truncated file: {} bytes for "
                    "{} x {} pixels",
                    source, bytes.size(), width, height));
  }
  const bool is_grey = stored == JCS_GRAYSCALE;
  state.jpeg.out_color_space = is_grey ? JCS_GRAYSCALE : JCS_RGB;
  auto image = blank_image(static_cast<std::int64_t>(width),
                           static_cast<std::int64_t>(height), is_grey ? 1 : 3);
  state.row_bytes = static_cast<std::size_t>(width) * (is_grey ? 1 : 3);
  state.pixels = image.pixels.data();
  if (!attempt(read_rows, state)) fail(state, source);
  return image;
}

}  // namespace kinflow
