// Reading files whose size is checked before memory is spent on them.
#pragma once

#include <cstdint>
#include <string>

namespace kinflow {

/// A file opened for reading. Every failure is an InputError that names the path; a
/// directory is refused.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// True for a file with a size; false for a pipe or a device.
  bool is_regular() const { return is_regular_; }
  /// Bytes in a regular file; 0 for the others.
  std::uint64_t size() const { return size_; }
  /// Reads up to `count` bytes; fewer only at the end of the file.
  std::size_t read(void* to, std::size_t count);
  /// Reads exactly `count` bytes; an InputError where the file ends before.
  void read_exactly(void* to, std::size_t count);
  /// The same from an offset of a regular file; does not move where read() goes on.
  void read_at(std::uint64_t offset, void* to, std::size_t count) const;

 private:
  [[noreturn]] void fail_at_early_end() const;

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  bool is_regular_ = false;
};

/// What is left of a file; pipes are read to their end.
std::string read_to_end(InputFile& file);
/// All bytes of a file.
std::string read_whole_file(const std::string& path);

}  // namespace kinflow
