// Output files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kinflow {

/// Writes to a temporary file beside the wanted one and renames it on commit(), so that
/// a reader never sees half a file and a failure leaves what was there before. Every
/// failure (a missing folder, no permission, a full disk) is an InputError that names
/// the wanted path. A path that is a device or a pipe, such as /dev/stdout, is written
/// to directly.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  /// Removes the temporary file unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Replaces bytes that have been written. Not where is_direct().
  void overwrite(std::uint64_t offset, std::string_view bytes);
  /// True for a device or a pipe.
  bool is_direct() const { return temporary_.empty(); }
  /// Brings what has been written to the disk, so that only the name is left to
  /// commit(): files that belong together are all synced before the first is committed.
  void sync();
  /// Brings everything to the disk and gives the file its name. Call once, last.
  void commit();

 private:
  void flush();
  /// Calls write_some(bytes), which gives how many it wrote, until all are written.
  template <typename WriteSome>
  void write_all(std::string_view bytes, const WriteSome& write_some);
  /// Throws the error of the system call that has just failed.
  [[noreturn]] void fail();

  std::string path_;
  std::string target_;     ///< path_ with links followed
  std::string temporary_;  ///< empty: path_ is written to directly
  std::string buffer_;
  int descriptor_ = -1;
};

/// The whole content of a file in one call.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// Removes from a folder the files that a killed process had not finished; with a name,
/// only what should have become that file.
void remove_unfinished_files(const std::string& directory,
                             const std::string& name = "");

}  // namespace kinflow
