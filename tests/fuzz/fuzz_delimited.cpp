// Fuzzes the walk over rows of text, plain or gzipped: any bytes give rows as wide as
// their header, the same from gzip members as from the text, or an InputError of one
// line.
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzzed.h"
#include "kinflow/data/delimited_lines.h"

namespace {

using namespace kinflow;
using fuzzed::require;

std::string gzipped(std::string_view text) {
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  require(deflateInit2(&stream, 1, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// All cells, or the message that ends them.
std::vector<std::string> cells_of(const std::string& bytes) {
  std::vector<std::string> cells;
  try {
    DelimitedLines lines(bytes, "f");
    require(!lines.header().empty());
    cells = lines.header();
    std::int64_t last = lines.line();
    while (lines.next()) {
      require(lines.line() > last && lines.cells().size() == lines.header().size());
      last = lines.line();
      cells.insert(cells.end(), lines.cells().begin(), lines.cells().end());
    }
  } catch (const InputError& error) {
    require(is_printable_utf8(error.what()));
    cells.push_back(error.what());
  }
  return cells;
}

bool looks_zipped(const std::string& bytes) {
  return bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd");
}

}  // namespace

/// The first byte says where a second gzip member begins; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzed::Input input(data, size);
  const std::size_t cut = input.choice();
  const auto bytes = input.rest();
  const auto plain = cells_of(bytes);
  if (bytes.empty() || looks_zipped(bytes)) return 0;
  const auto first = std::string_view(bytes).substr(0, cut);
  const auto second = std::string_view(bytes).substr(first.size());
  require(cells_of(gzipped(first) + gzipped(second)) == plain);
  return 0;
}
