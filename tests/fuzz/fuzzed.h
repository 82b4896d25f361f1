// What the fuzz targets share.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"

namespace kinflow::fuzzed {

inline void require(bool claim) {
  if (!claim) std::abort();
}

/// Calls read(), which may end in an InputError of one line, and in no other exception.
template <typename Read>
int answer_or_input_error(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    require(is_printable_utf8(error.what()));
  }
  return 0;
}

/// The fuzzer's bytes: choices first, then one file or several.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : bytes_(reinterpret_cast<const char*>(data), size) {}

  /// The next byte; 0 where there is none.
  std::uint8_t choice() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  /// The bytes up to a line of four dashes, which is dropped, or all that are left.
  std::string file() {
    constexpr std::string_view kBetweenFiles = "----\n";
    const auto end = std::min(bytes_.find(kBetweenFiles), bytes_.size());
    const std::string result(bytes_.substr(0, end));
    bytes_.remove_prefix(std::min(end + kBetweenFiles.size(), bytes_.size()));
    return result;
  }
  std::string rest() const { return std::string(bytes_); }

 private:
  std::string_view bytes_;
};

/// A folder in memory for readers that want a path; goes away with the process.
class Folder {
 public:
  Folder() : path_("/dev/shm/kinflow_fuzz_" + std::to_string(::getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace kinflow::fuzzed
