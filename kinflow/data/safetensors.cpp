// The safetensors format: the header's length, the header as JSON, the data.
#include "kinflow/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/input_file.h"

static_assert(std::endian::native == std::endian::little);

namespace kinflow {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxDimensions = 64;
constexpr const char* kMetadataKey = "__metadata__";

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw InputError(source + ": not a usable safetensors file: " + what);
}

struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> data_offsets;
  std::set<std::string> fields;  // seen so far
};

/// Takes the header as a stream of events, so that nothing but what the format allows
/// is ever stored and nesting beyond it ends the reading:
///
///     { "__metadata__": { text: text ... },
///       name: { "dtype": text, "shape": [integers], "data_offsets": [begin, end] } ...
///       }
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> entries;
  std::string problem;  ///< why reading stopped

  bool start_object(std::size_t) override {
    if (depth_ == 0) {
      depth_ = 1;
      return true;
    }
    if (depth_ == 1) {
      depth_ = 2;
      if (!in_metadata_) entries.emplace_back().name = key_;
      return true;
    }
    return unexpected("an object");
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ && entries.back().fields.size() != 3) {
      return stop(where() + ": expected dtype, shape and data_offsets");
    }
    --depth_;
    return true;
  }

  bool key(string_t& name) override {
    if (depth_ == 1) {
      if (!names_.insert(name).second) {
        return stop("two entries have the name " + in_quotes(name));
      }
      in_metadata_ = name == kMetadataKey;
    } else if (in_metadata_) {
      if (metadata.contains(name)) {
        return stop("two metadata entries have the name " + in_quotes(name));
      }
    } else {
      if (name != "dtype" && name != "shape" && name != "data_offsets") {
        return stop(where() + ": unknown key " + in_quotes(name));
      }
      if (!entries.back().fields.insert(name).second) {
        return stop(where() + ": " + name + " is given twice");
      }
    }
    key_ = std::move(name);
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) {
      metadata[key_] = std::move(text);
      return true;
    }
    if (depth_ == 2 && key_ == "dtype") {
      entries.back().dtype = std::move(text);
      return true;
    }
    return unexpected("text");
  }

  bool start_array(std::size_t) override {
    if (depth_ == 2 && !in_metadata_ && key_ != "dtype") {
      depth_ = 3;
      return true;
    }
    return unexpected("a list");
  }

  bool end_array() override {
    depth_ = 2;
    return true;
  }

  bool number_unsigned(std::uint64_t number) override {
    if (depth_ != 3) return unexpected("a number");
    auto& list = key_ == "shape" ? entries.back().shape : entries.back().data_offsets;
    if (list.size() == kMaxDimensions) return unexpected("a long list");
    list.push_back(number);
    return true;
  }

  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const string_t&) override {
    return unexpected("a number that is no 64-bit integer");
  }
  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return stop(fmt::format("the header is no JSON (at its byte {})", position));
  }

 private:
  bool stop(std::string what) {
    problem = std::move(what);
    return false;
  }

  std::string where() const {
    if (in_metadata_) return "metadata";
    return "tensor " + in_quotes(entries.back().name);
  }

  bool unexpected(const std::string& what) {
    if (depth_ == 0) return stop("expected a JSON object in the header, found " + what);
    if (depth_ == 1) return stop("entry " + in_quotes(key_) + ": unexpected " + what);
    return stop(where() + ": unexpected " + what + " in " + in_quotes(key_));
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_;
  std::set<std::string> names_;
};

/// Bytes of an array; false on overflow. No dimension may exceed int64.
bool tensor_bytes(const std::vector<std::uint64_t>& shape, std::uint64_t element_bytes,
                  std::uint64_t& bytes) {
  bytes = element_bytes;
  bool fits = true;
  bool empty = false;
  for (const std::uint64_t extent : shape) {
    empty = empty || extent == 0;
    fits = fits && extent <= INT64_MAX &&
           !__builtin_mul_overflow(bytes, extent == 0 ? 1 : extent, &bytes);
  }
  if (empty) bytes = 0;
  return fits;
}

void check_entry(const TensorEntry& entry, const std::string& source) {
  const std::string where = "tensor " + in_quotes(entry.name);
  const std::int64_t element_bytes = safetensor_element_bytes(entry.dtype);
  if (element_bytes == 0)
    fail(source, where + ": unknown dtype " + in_quotes(entry.dtype));
  if (entry.data_offsets.size() != 2) {
    fail(source, where + ": expected data_offsets of two numbers");
  }
  std::uint64_t bytes = 0;
  if (!tensor_bytes(entry.shape, static_cast<std::uint64_t>(element_bytes), bytes)) {
    fail(source, where + ": the shape is too large");
  }
  const std::uint64_t begin = entry.data_offsets[0], end = entry.data_offsets[1];
  if (end < begin || end - begin != bytes) {
    fail(source, fmt::format("{}: expected {} bytes for its shape, found data_offsets "
                             "{} to {}",
                             where, bytes, begin, end));
  }
}

/// The description of a file, checked against the number of bytes of data that follow.
/// The arrays have no data yet.
struct Description {
  std::map<std::string, std::string> metadata;
  std::vector<TensorEntry> entries;

  /// Of all arrays, which follow each other.
  std::uint64_t data_bytes() const {
    return entries.empty() ? 0 : entries.back().data_offsets[1];
  }
};

Description read_description(std::string_view header, std::uint64_t data_bytes,
                             const std::string& source) {
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &reader)) {
    fail(source, reader.problem);
  }
  for (const TensorEntry& entry : reader.entries) check_entry(entry, source);
  std::sort(reader.entries.begin(), reader.entries.end(),
            [](const TensorEntry& a, const TensorEntry& b) {
              return std::tie(a.data_offsets, a.name) <
                     std::tie(b.data_offsets, b.name);
            });
  std::uint64_t filled = 0;
  for (const TensorEntry& entry : reader.entries) {
    if (entry.data_offsets[0] != filled) {
      fail(source, fmt::format("tensor {}: expected its data at byte {}, found {}",
                               in_quotes(entry.name), filled, entry.data_offsets[0]));
    }
    filled = entry.data_offsets[1];
  }
  if (filled != data_bytes) {
    fail(source,
         fmt::format("expected {} bytes of data, found {}", filled, data_bytes));
  }
  return {.metadata = std::move(reader.metadata), .entries = std::move(reader.entries)};
}

/// @param file_bytes  at least kLengthBytes
void check_header_length(std::uint64_t header_bytes, std::uint64_t file_bytes,
                         const std::string& source) {
  if (header_bytes > kMaxHeaderBytes || header_bytes > file_bytes - kLengthBytes) {
    fail(source,
         fmt::format("expected a header of at most {} bytes, found a length of {}",
                     std::min(kMaxHeaderBytes, file_bytes - kLengthBytes),
                     header_bytes));
  }
}

/// The description at the start of a regular file, which is left at its data.
Description read_description(InputFile& file) {
  if (file.size() < kLengthBytes) fail(file.path(), "the file is too short");
  std::uint64_t header_bytes = 0;
  file.read_exactly(&header_bytes, kLengthBytes);
  check_header_length(header_bytes, file.size(), file.path());
  std::string header(header_bytes, '\0');
  file.read_exactly(header.data(), header.size());
  return read_description(header, file.size() - kLengthBytes - header_bytes,
                          file.path());
}

SafeTensors attach_data(Description description, std::vector<std::byte> data) {
  SafeTensors result;
  result.metadata = std::move(description.metadata);
  result.storage = std::make_shared<const std::vector<std::byte>>(std::move(data));
  for (TensorEntry& entry : description.entries) {
    const auto begin = static_cast<std::size_t>(entry.data_offsets[0]);
    const auto end = static_cast<std::size_t>(entry.data_offsets[1]);
    result.tensors.push_back(
        {.name = std::move(entry.name),
         .dtype = std::move(entry.dtype),
         .shape = std::vector<std::int64_t>(entry.shape.begin(), entry.shape.end()),
         .data = std::span(*result.storage).subspan(begin, end - begin)});
  }
  return result;
}

}  // namespace

std::int64_t safetensor_element_bytes(std::string_view dtype) {
  static const std::map<std::string_view, std::int64_t> kBytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
      {"I32", 4},  {"F32", 4}, {"U64", 8}, {"I64", 8},     {"F64", 8}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

SafeTensors parse_safetensors(std::string_view bytes, const std::string& source) {
  if (bytes.size() < kLengthBytes) fail(source, "the file is too short");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), kLengthBytes);
  check_header_length(header_bytes, bytes.size(), source);
  const std::string_view data = bytes.substr(kLengthBytes + header_bytes);
  Description description =
      read_description(bytes.substr(kLengthBytes, header_bytes), data.size(), source);
  const auto* begin = reinterpret_cast<const std::byte*>(data.data());
  return attach_data(std::move(description), {begin, begin + data.size()});
}

SafeTensors read_safetensors(const std::string& path) {
  InputFile file(path);
  if (!file.is_regular()) return parse_safetensors(read_whole_file(path), path);
  Description description = read_description(file);
  std::vector<std::byte> data(description.data_bytes());
  file.read_exactly(data.data(), data.size());
  return attach_data(std::move(description), std::move(data));
}

std::map<std::string, std::string> read_safetensors_metadata(const std::string& path) {
  // A pipe that is opened and closed has lost its writer.
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) &&
      !std::filesystem::is_regular_file(path, ignored)) {
    return {};
  }
  InputFile file(path);
  return read_description(file).metadata;
}

void write_safetensors(const std::string& path,
                       const std::map<std::string, std::string>& metadata,
                       const std::vector<SafeTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::set<std::string_view> names = {kMetadataKey};
  std::uint64_t offset = 0;
  for (const SafeTensor& tensor : tensors) {
    const std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
    const auto element_bytes =
        static_cast<std::uint64_t>(safetensor_element_bytes(tensor.dtype));
    std::uint64_t bytes = 0;
    if (element_bytes == 0 || !tensor_bytes(shape, element_bytes, bytes) ||
        bytes != tensor.data.size() || shape.size() > kMaxDimensions ||
        !names.insert(tensor.name).second) {
      throw std::logic_error("[write_safetensors] bad or repeated tensor " +
                             tensor.name);
    }
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  // Text that is no UTF-8, such as a file name in the metadata, loses those bytes only.
  std::string text =
      header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t header_bytes = text.size();

  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&header_bytes), kLengthBytes});
  file.write(text);
  for (const SafeTensor& tensor : tensors) {
    file.write({reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()});
  }
  file.commit();
}

}  // namespace kinflow
