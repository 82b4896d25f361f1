// A buffer over a file or memory.
#include "kinflow/data/text_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"

namespace kinflow {
namespace {

constexpr std::size_t kPiece = 1 << 20;
UnzippedBytes file_bytes(const std::string& path) {
  const auto file = std::make_shared<InputFile>(path);
  return {[file](char* to, std::size_t count) { return file->read(to, count); }, path};
}

UnzippedBytes memory_bytes(std::string_view bytes, const std::string& source) {
  return {[bytes](char* to, std::size_t count) mutable {
            const std::size_t part = std::min(count, bytes.size());
            std::memcpy(to, bytes.data(), part);
            bytes.remove_prefix(part);
            return part;
          },
          source};
}

}  // namespace

TextLines::TextLines(const std::string& path)
    : source_(path), bytes_(file_bytes(path)) {}

TextLines::TextLines(std::string_view bytes, std::string source)
    : source_(std::move(source)), bytes_(memory_bytes(bytes, source_)) {}

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
  const std::size_t got = bytes_.read(buffer_.data() + known, wanted);
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
  if (number_ == 1 && line_.starts_with(kByteOrderMark)) {
    line_.remove_prefix(kByteOrderMark.size());
  }
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

bool next_cell(std::string_view& rest, std::string_view& cell,
               std::string_view separators) {
  rest.remove_prefix(std::min(rest.find_first_not_of(separators), rest.size()));
  if (rest.empty()) return false;
  if (rest[0] == '"') {
    const std::size_t quote = rest.find('"', 1);
    if (quote != std::string_view::npos) {
      cell = rest.substr(1, quote - 1);
      rest.remove_prefix(quote + 1);
      return true;
    }
  }
  cell = rest.substr(0, rest.find_first_of(separators));
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
