// Files that are read where they stand, page by page.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace kinflow {

/// A regular file mapped into memory for reading, for as long as the object lives.
/// Threads may read at the same time. InputError, with the path, for a file that cannot
/// be read or has no size of its own, such as a pipe.
class MappedFile {
 public:
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::uint8_t> bytes() const { return {begin_, size_}; }

 private:
  std::string path_;
  const std::uint8_t* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kinflow
