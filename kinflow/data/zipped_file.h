// Output files that are gzipped where their name asks for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kinflow/core/atomic_file.h"

namespace kinflow {

/// An AtomicFile that gzips what it is given where its name ends in .gz.
class ZippedFile {
 public:
  explicit ZippedFile(const std::string& path);
  ~ZippedFile();
  ZippedFile(const ZippedFile&) = delete;
  ZippedFile& operator=(const ZippedFile&) = delete;

  void write(std::string_view bytes);
  /// As those of AtomicFile; bytes can be replaced where they are not gzipped.
  void overwrite(std::uint64_t offset, std::string_view bytes);
  bool is_direct() const { return file_.is_direct(); }
  /// Brings everything to the disk and gives the file its name. Call once, last.
  void commit();

 private:
  class Deflater;

  AtomicFile file_;
  std::unique_ptr<Deflater> deflater_;  // none for a name without .gz
};

}  // namespace kinflow
