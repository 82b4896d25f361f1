// A buffer over a file or memory, with zlib in between where the bytes are gzipped.
#include "kinflow/data/text_lines.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"

namespace kinflow {
namespace {

constexpr std::size_t kPiece = 1 << 20;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

}  // namespace

/// zlib's stream over the bytes that `read` gives.
class TextLines::Inflater {
 public:
  Inflater(Read read, std::string first, const std::string& source)
      : read_(std::move(read)), input_(std::move(first)), source_(source) {
    // 15: the largest window; 16: a gzip header.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
    take(input_.size());
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(char* to, std::size_t count) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out > 0) {
      if (stream_.avail_in == 0) {
        input_.resize(kPiece);
        take(read_(input_.data(), kPiece));
        if (stream_.avail_in == 0) {
          if (between_members_) break;
          throw InputError(source_ + ": the gzip data end before they are complete");
        }
      }
      if (between_members_) {
        inflateReset(&stream_);
        between_members_ = false;
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      between_members_ = status == Z_STREAM_END;
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
        throw InputError(source_ + ": the gzip data are damaged");
      }
    }
    return count - stream_.avail_out;
  }

 private:
  void take(std::size_t count) {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
  }

  Read read_;
  std::string input_;
  const std::string& source_;
  z_stream stream_ = {};
  bool between_members_ = false;
};

TextLines::TextLines(const std::string& path) : source_(path) {
  const auto file = std::make_shared<InputFile>(path);
  read_ = [file](char* to, std::size_t count) { return file->read(to, count); };
  start();
}

TextLines::TextLines(std::string_view bytes, std::string source)
    : source_(std::move(source)) {
  read_ = [bytes](char* to, std::size_t count) mutable {
    const std::size_t part = std::min(count, bytes.size());
    std::memcpy(to, bytes.data(), part);
    bytes.remove_prefix(part);
    return part;
  };
  start();
}

TextLines::~TextLines() = default;

void TextLines::start() {
  std::string first(kZstdMagic.size(), '\0');
  first.resize(read_(first.data(), first.size()));
  if (first == kZstdMagic) {
    throw InputError(source_ +
                     ": expected text, plain or gzipped, found zstd data; unpack them "
                     "with zstd -d");
  }
  if (first.starts_with(kGzipMagic)) {
    inflater_ = std::make_unique<Inflater>(read_, std::move(first), source_);
    read_ = [this](char* to, std::size_t count) { return inflater_->read(to, count); };
  } else {
    buffer_ = std::move(first);
  }
}

void TextLines::refill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const std::size_t known = buffer_.size();
  try {
    buffer_.resize(known + std::max(kPiece, known));
  } catch (const std::bad_alloc&) {
    throw InputError(source_ + ": too large for the memory of this machine");
  }
  const std::size_t wanted = buffer_.size() - known;
  const std::size_t got = read_(buffer_.data() + known, wanted);
  at_end_ = got < wanted;
  buffer_.resize(known + got);
}

bool TextLines::next() {
  if (std::exchange(is_put_back_, false)) return true;
  std::size_t searched = position_;
  for (;;) {
    const std::size_t newline = buffer_.find('\n', searched);
    if (newline == std::string::npos && !at_end_) {
      searched = buffer_.size() - position_;
      refill();
      continue;
    }
    const std::size_t end = std::min(newline, buffer_.size());
    if (newline == std::string::npos && end == position_) return false;
    line_ = std::string_view(buffer_).substr(position_, end - position_);
    position_ = std::min(end + 1, buffer_.size());
    break;
  }
  ++number_;
  if (line_.find('\0') != std::string_view::npos) {
    throw InputError(source_ + ": not a file of text: found a NUL byte");
  }
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  return true;
}

bool TextLines::next_filled() {
  while (next()) {
    if (line_.find_first_not_of(" \t\r") != std::string_view::npos) return true;
  }
  return false;
}

void TextLines::put_back() { is_put_back_ = true; }

void TextLines::fail(const std::string& what) const {
  throw InputError(fmt::format("{}:{}: {}", source_, number_, what));
}

bool next_cell(std::string_view& rest, std::string_view& cell) {
  constexpr std::string_view kSeparators = " \t\r,";
  rest.remove_prefix(std::min(rest.find_first_not_of(kSeparators), rest.size()));
  if (rest.empty()) return false;
  if (rest[0] == '"') {
    const std::size_t quote = rest.find('"', 1);
    if (quote != std::string_view::npos) {
      cell = rest.substr(1, quote - 1);
      rest.remove_prefix(quote + 1);
      return true;
    }
  }
  cell = rest.substr(0, rest.find_first_of(kSeparators));
  rest.remove_prefix(cell.size());
  return true;
}

std::vector<std::string> split_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (std::string_view cell; next_cell(line, cell);) cells.emplace_back(cell);
  return cells;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace kinflow
