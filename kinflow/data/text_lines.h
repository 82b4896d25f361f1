// Lines of a text file, plain or gzipped, read piece by piece.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/data/unzipped_bytes.h"

namespace kinflow {

/// What some programs write before a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Walks over the lines of a text without holding all of it; gzipped bytes are unzipped
/// on the way (UnzippedBytes), and a byte order mark is dropped. InputError for a file
/// that cannot be read or unzipped, and for a NUL byte.
class TextLines {
 public:
  explicit TextLines(const std::string& path);
  /// Bytes in memory, which must outlive the reader; `source` stands for the file.
  TextLines(std::string_view bytes, std::string source);
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  /// Goes to the next line; false at the end. The last line needs no newline.
  bool next();
  /// Goes to the next line that holds more than blanks.
  bool next_filled();
  /// Makes the current line the next one again. Once between two calls of next().
  void put_back();
  /// The current line without its end, valid until the next call of next().
  std::string_view line() const { return line_; }
  /// Number of the current line, from 1.
  std::int64_t number() const { return number_; }
  const std::string& source() const { return source_; }
  /// Throws InputError "SOURCE:LINE: WHAT".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void refill();

  std::string source_;
  UnzippedBytes bytes_;
  std::string buffer_;
  std::size_t position_ = 0;  // of what has not been given out
  std::string_view line_;
  std::int64_t number_ = 0;
  bool at_end_ = false;  // of the file; the buffer may hold more
  bool is_put_back_ = false;
};

/// The next piece of `rest` between separators, which loses it; quotes around a piece
/// are taken off. False where nothing is left.
bool next_cell(std::string_view& rest, std::string_view& cell,
               std::string_view separators = " \t\r,");

/// All pieces of a line, as next_cell() gives them.
std::vector<std::string> split_cells(std::string_view line);

/// `text` in lower case, ASCII only.
std::string lower_case(std::string_view text);

}  // namespace kinflow
