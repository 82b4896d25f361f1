// Bytes of text files, unzipped on the way where they are gzipped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace kinflow {

/// The bytes that a function gives, unzipped where they start with gzip's magic number,
/// whatever the name of the file; several members in a row are one text. InputError for
/// gzip data that are damaged or cut off, and for zstd data.
class UnzippedBytes {
 public:
  /// Gives up to this number of bytes; fewer only at the end.
  using Read = std::function<std::size_t(char*, std::size_t)>;

  /// @param source  the file, for messages
  UnzippedBytes(Read read, std::string source);
  ~UnzippedBytes();
  UnzippedBytes(UnzippedBytes&&) noexcept;
  UnzippedBytes& operator=(UnzippedBytes&&) noexcept;

  /// Reads up to `count` bytes; fewer only at the end.
  std::size_t read(char* to, std::size_t count);
  bool is_zipped() const { return inflater_ != nullptr; }
  /// Bytes taken from the file so far, as they are there.
  std::uint64_t bytes_taken() const;

 private:
  class Inflater;

  Read read_;
  std::string first_;  // bytes that were looked at, to be given
  std::unique_ptr<Inflater> inflater_;
  std::uint64_t taken_ = 0;
};

}  // namespace kinflow
