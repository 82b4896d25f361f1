// The .npy format: a magic string, a Python dict as text, and the numbers.
#include "kinflow/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/input_file.h"

static_assert(std::endian::native == std::endian::little);

namespace kinflow {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostNpyDimensions = 32;
constexpr std::string_view kDtypes =
    "float32, float64, int8 to int64, uint8 to uint64 or bool, little-endian";

/// Reads the Python literal that describes the array: a dict of the keys descr (text),
/// fortran_order (True or False) and shape (a tuple of integers), each once.
class DictReader {
 public:
  DictReader(std::string_view text, const std::string& source)
      : text_(text), source_(source) {}

  NpyLayout read() {
    NpyLayout layout;
    std::string descr;
    bool seen_descr = false, seen_order = false, seen_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted_text();
      expect(':');
      if (key == "descr" && !seen_descr) {
        descr = quoted_text();
        seen_descr = true;
      } else if (key == "fortran_order" && !seen_order) {
        layout.fortran_order = boolean();
        seen_order = true;
      } else if (key == "shape" && !seen_shape) {
        layout.shape = tuple();
        seen_shape = true;
      } else {
        fail("unexpected key " + in_quotes(key) + " in the header");
      }
      if (!accept(',') && peek() != '}') fail("malformed header");
    }
    if (peek() != '\0') fail("malformed header");
    if (!seen_descr || !seen_order || !seen_shape) {
      fail("the header lacks descr, fortran_order or shape");
    }
    layout.dtype = dtype_of(descr);
    layout.element_bytes =
        layout.dtype == "b1" ? 1 : static_cast<std::uint64_t>(layout.dtype[1] - '0');
    return layout;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(source_ + ": not a usable .npy file: " + what);
  }

  /// The next byte that is no blank, '\0' at the end.
  char peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) {
      text_.remove_prefix(1);
    }
    return text_.empty() ? '\0' : text_[0];
  }

  bool accept(char wanted) {
    if (peek() != wanted || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("expected '{}' in the header", wanted));
  }

  std::string quoted_text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      fail("expected quoted text in the header (a structured dtype has none)");
    }
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) fail("malformed header");
    std::string result(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return result;
  }

  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    fail("expected True or False for fortran_order");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> result;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t value = 0;
      const auto [end, error] =
          std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0 || result.size() == kMostNpyDimensions) {
        fail("malformed shape");
      }
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      result.push_back(value);
      if (!accept(',') && peek() != ')') fail("malformed shape");
    }
    return result;
  }

  std::string dtype_of(std::string_view descr) const {
    for (const std::string_view known : {"<f4", "<f8", "|i1", "<i2", "<i4", "<i8",
                                         "|u1", "<u2", "<u4", "<u8", "|b1"}) {
      if (descr == known) return std::string(known.substr(1));
    }
    fail(fmt::format("expected {}, found dtype {}", kDtypes, in_quotes(descr)));
  }

  std::string_view text_;
  const std::string& source_;
};

/// Offset and length of the dict in the file.
struct Preamble {
  std::uint64_t dict_offset = 0;
  std::uint64_t dict_bytes = 0;
};

/// @param start  the first 12 bytes of the file, or all of a shorter one
Preamble read_preamble(std::string_view start, const std::string& source) {
  if (!start.starts_with(kMagic) || start.size() < 10) {
    throw InputError(source + ": not a .npy file");
  }
  const int version = start[6];
  std::uint32_t bytes = 0;
  if (version == 1) {
    std::memcpy(&bytes, start.data() + 8, 2);
    return {.dict_offset = 10, .dict_bytes = bytes};
  }
  if ((version != 2 && version != 3) || start.size() < 12) {
    throw InputError(
        fmt::format("{}: not a usable .npy file: expected version 1 to 3", source));
  }
  std::memcpy(&bytes, start.data() + 8, 4);
  return {.dict_offset = 12, .dict_bytes = bytes};
}

void check_preamble(const Preamble& preamble, std::uint64_t file_bytes,
                    const std::string& source) {
  if (file_bytes < preamble.dict_offset + preamble.dict_bytes) {
    throw InputError(source +
                     ": not a usable .npy file: the header is longer than the "
                     "file");
  }
}

/// Parses the dict and checks that the file is exactly as long as the array needs.
NpyLayout parse_layout(std::string_view dict, const Preamble& preamble,
                       std::uint64_t file_bytes, const std::string& source) {
  NpyLayout layout = DictReader(dict, source).read();
  layout.data_offset = preamble.dict_offset + preamble.dict_bytes;
  const std::uint64_t data_bytes = file_bytes - layout.data_offset;
  std::uint64_t needed = layout.element_bytes;
  bool fits = true;
  layout.count = 1;
  for (const std::int64_t extent : layout.shape) {
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor == 0) layout.count = 0;
    fits = fits && !__builtin_mul_overflow(needed, factor == 0 ? 1 : factor, &needed);
  }
  if (fits && layout.count > 0) layout.count = needed / layout.element_bytes;
  if (layout.count == 0) needed = 0;
  if (!fits || needed != data_bytes) {
    throw InputError(fmt::format(
        "{}: not a usable .npy file: expected {} bytes of data for its shape, found {}",
        source, fits ? std::to_string(needed) : "more than 2^64", data_bytes));
  }
  return layout;
}

template <typename Element>
void convert(const char* data, std::vector<double>& values, const std::string& source) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Element element;
    std::memcpy(&element, data + i * sizeof(Element), sizeof(Element));
    values[i] = static_cast<double>(element);
    if constexpr (sizeof(Element) == 8 && std::is_integral_v<Element>) {
      // 2^63 and 2^64 stand for themselves here: casting them back would overflow.
      const bool exact =
          std::abs(values[i]) < 0x1.0p63 && static_cast<Element>(values[i]) == element;
      if (!exact) {
        throw InputError(fmt::format(
            "{}: the integer {} cannot be held exactly as float64", source, element));
      }
    }
  }
}

void convert_all(const std::string& dtype, const char* data,
                 std::vector<double>& values, const std::string& source) {
  if (dtype == "f4") convert<float>(data, values, source);
  if (dtype == "i1") convert<std::int8_t>(data, values, source);
  if (dtype == "i2") convert<std::int16_t>(data, values, source);
  if (dtype == "i4") convert<std::int32_t>(data, values, source);
  if (dtype == "i8") convert<std::int64_t>(data, values, source);
  if (dtype == "u1" || dtype == "b1") convert<std::uint8_t>(data, values, source);
  if (dtype == "u2") convert<std::uint16_t>(data, values, source);
  if (dtype == "u4") convert<std::uint32_t>(data, values, source);
  if (dtype == "u8") convert<std::uint64_t>(data, values, source);
}

/// From Fortran order (the first index runs fastest) to C order.
std::vector<double> to_row_major(const std::vector<double>& values,
                                 const std::vector<std::int64_t>& shape) {
  std::vector<double> result(values.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::vector<std::size_t> stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) {
    stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  }
  std::size_t from = 0;
  for (double& value : result) {
    value = values[from];
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return result;
}

}  // namespace

NpyReader::NpyReader(const std::string& path) : source_(path) {
  const auto file = std::make_shared<InputFile>(path);
  if (file->is_regular()) {
    read_at_ = [file](std::uint64_t offset, void* to, std::size_t count) {
      file->read_at(offset, to, count);
    };
    read_layout(file->size());
    return;
  }
  const auto bytes = std::make_shared<const std::string>(read_to_end(*file));
  read_at_ = [bytes](std::uint64_t offset, void* to, std::size_t count) {
    std::memcpy(to, bytes->data() + offset, count);
  };
  read_layout(bytes->size());
}

NpyReader::NpyReader(std::string_view bytes, const std::string& source)
    : source_(source) {
  read_at_ = [bytes](std::uint64_t offset, void* to, std::size_t count) {
    std::memcpy(to, bytes.data() + offset, count);
  };
  read_layout(bytes.size());
}

void NpyReader::read_layout(std::uint64_t file_bytes) {
  std::string start(std::min<std::uint64_t>(file_bytes, 12), '\0');
  read_at_(0, start.data(), start.size());
  const Preamble preamble = read_preamble(start, source_);
  check_preamble(preamble, file_bytes, source_);
  std::string dict(preamble.dict_bytes, '\0');
  read_at_(preamble.dict_offset, dict.data(), dict.size());
  layout_ = parse_layout(dict, preamble, file_bytes, source_);
}

std::int64_t NpyReader::rows() const {
  return layout_.shape.empty() ? 1 : layout_.shape[0];
}

std::vector<double> NpyReader::read(std::int64_t first, std::int64_t count) const {
  if (count == 0 || layout_.count == 0) return {};
  const auto all = static_cast<std::uint64_t>(rows());
  const auto from = static_cast<std::uint64_t>(first);
  const auto wanted = static_cast<std::uint64_t>(count);
  const std::uint64_t per_row = layout_.count / all;
  const bool by_columns = layout_.fortran_order && layout_.shape.size() > 1;
  // In Fortran order the wanted rows of every column lie together.
  const bool is_scattered = by_columns && wanted < all;
  const std::uint64_t runs = is_scattered ? per_row : 1;
  const std::uint64_t run = wanted * per_row / runs;
  const std::uint64_t start = by_columns ? from : from * per_row;

  const std::uint64_t bytes = layout_.element_bytes;
  const auto read_runs = [&](char* to) {
    for (std::uint64_t i = 0; i < runs; ++i) {
      const std::uint64_t element = start + i * all;
      read_at_(layout_.data_offset + element * bytes, to + i * run * bytes,
               run * bytes);
    }
  };
  std::vector<double> values(wanted * per_row);
  if (layout_.dtype == "f8") {
    read_runs(reinterpret_cast<char*>(values.data()));
  } else {
    std::vector<char> raw(values.size() * bytes);
    read_runs(raw.data());
    convert_all(layout_.dtype, raw.data(), values, source_);
  }
  if (!by_columns) return values;
  auto shape = layout_.shape;
  shape[0] = count;
  return to_row_major(values, shape);
}

NpyArray parse_npy(std::string_view bytes, const std::string& source) {
  const NpyReader reader(bytes, source);
  return {.shape = reader.layout().shape, .values = reader.read(0, reader.rows())};
}

NpyArray read_npy(const std::string& path) {
  const NpyReader reader(path);
  return {.shape = reader.layout().shape, .values = reader.read(0, reader.rows())};
}

namespace {

std::string preamble_of(const std::vector<std::int64_t>& shape,
                        const std::string& type) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.resize(extents.size() - 1);
  std::string dict = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, extents);
  // The data starts at a multiple of 64 bytes, after a newline.
  dict.append(63 - (10 + dict.size()) % 64, ' ').push_back('\n');
  const auto dict_bytes = static_cast<std::uint16_t>(dict.size());
  std::string preamble(kMagic);
  preamble.append("\x01\x00", 2);
  preamble.append(reinterpret_cast<const char*>(&dict_bytes), 2);
  return preamble + dict;
}

template <typename Value>
void write_array(const std::string& path, const std::string& preamble,
                 std::span<const Value> values) {
  AtomicFile file(path);
  file.write(preamble);
  file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  file.commit();
}

}  // namespace

std::string npy_preamble(const std::vector<std::int64_t>& shape) {
  return preamble_of(shape, "<f8");
}

void write_npy(const std::string& path, const std::vector<std::int64_t>& shape,
               std::span<const double> values) {
  write_array(path, npy_preamble(shape), values);
}

void write_npy(const std::string& path, const std::vector<std::int64_t>& shape,
               std::span<const std::uint8_t> values) {
  write_array(path, preamble_of(shape, "|u1"), values);
}

}  // namespace kinflow
