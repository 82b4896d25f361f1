// Walks the directory of a zip archive and recomputes every checksum.
#include "kinflow/core/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/mapped_file.h"

namespace kinflow {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint32_t kEntrySignature = 0x04034b50;
constexpr std::uint32_t kDirectorySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::size_t kEntryHeader = 30, kDirectoryHeader = 46, kEndRecord = 22;
constexpr std::size_t kLongestComment = 0xffff;
constexpr std::size_t kSizeLimit = 0xffffffff;
constexpr unsigned kStored = 0, kDeflated = 8;

class Archive {
 public:
  explicit Archive(const std::string& path) : file_(path), bytes_(file_.bytes()) {}

  void check() const {
    if (bytes_.size() >= kSizeLimit) fail("fewer than 4 GiB", "more");
    const std::size_t end = find_end();
    const std::size_t entries = short_at(end + 10);
    std::size_t place = long_at(end + 16);
    if (entries == 0) fail("an entry", "none");
    for (std::size_t i = 0; i < entries; ++i) {
      part(place, kDirectoryHeader, i);
      if (long_at(place) != kDirectorySignature)
        fail_at(i, "its place in the directory");
      check_entry(place, i);
      place += kDirectoryHeader + short_at(place + 28) + short_at(place + 30) +
               short_at(place + 32);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    throw InputError(fmt::format("{}: expected a zip archive with {}, found {}",
                                 file_.path(), expected, found));
  }
  [[noreturn]] void fail_at(std::size_t entry, const std::string& what) const {
    fail("whole entries",
         fmt::format("entry {} with a wrong {}: the file is damaged", entry + 1, what));
  }

  Bytes part(std::size_t first, std::size_t count, std::size_t entry) const {
    if (first > bytes_.size() || count > bytes_.size() - first)
      fail_at(entry, "length");
    return bytes_.subspan(first, count);
  }
  std::size_t short_at(std::size_t place) const {
    return bytes_[place] | static_cast<std::size_t>(bytes_[place + 1]) << 8;
  }
  std::size_t long_at(std::size_t place) const {
    return short_at(place) | short_at(place + 2) << 16;
  }

  // The record at the end of the file, after which only a comment may stand.
  std::size_t find_end() const {
    const std::size_t size = bytes_.size();
    for (std::size_t back = kEndRecord;
         back <= std::min(size, kEndRecord + kLongestComment); ++back) {
      if (long_at(size - back) == kEndSignature) return size - back;
    }
    fail("a directory at its end", "none");
  }

  void check_entry(std::size_t directory, std::size_t entry) const {
    const std::size_t method = short_at(directory + 10);
    const std::size_t checksum = long_at(directory + 16);
    const std::size_t stored_size = long_at(directory + 20);
    const std::size_t size = long_at(directory + 24);
    const std::size_t name_size = short_at(directory + 28);
    const std::size_t header = long_at(directory + 42);
    const Bytes name = part(directory + kDirectoryHeader, name_size, entry);
    part(header, kEntryHeader, entry);
    if (long_at(header) != kEntrySignature) fail_at(entry, "header");
    const std::size_t own_name_size = short_at(header + 26);
    const Bytes own_name = part(header + kEntryHeader, own_name_size, entry);
    if (!std::equal(name.begin(), name.end(), own_name.begin(), own_name.end())) {
      fail_at(entry, "name");
    }
    const Bytes content =
        part(header + kEntryHeader + own_name_size + short_at(header + 28), stored_size,
             entry);
    if (method != kStored && method != kDeflated) fail_at(entry, "method");
    const bool is_whole = method == kStored
                              ? stored_size == size && checksum_of(content) == checksum
                              : inflates_to(content, size, checksum);
    if (!is_whole) fail_at(entry, "checksum");
  }

  static std::size_t checksum_of(Bytes content) {
    return crc32_z(0, content.data(), content.size());
  }

  static bool inflates_to(Bytes content, std::size_t size, std::size_t checksum) {
    z_stream stream{};
    constexpr int kWithoutHeader = -MAX_WBITS;
    if (inflateInit2(&stream, kWithoutHeader) != Z_OK) return false;
    stream.next_in = const_cast<std::uint8_t*>(content.data());
    stream.avail_in = static_cast<uInt>(content.size());
    std::vector<std::uint8_t> buffer(1 << 16);
    std::size_t total = 0;
    uLong sum = 0;
    int state = Z_OK;
    while (state == Z_OK && total <= size) {
      stream.next_out = buffer.data();
      stream.avail_out = static_cast<uInt>(buffer.size());
      state = inflate(&stream, Z_NO_FLUSH);
      const std::size_t made = buffer.size() - stream.avail_out;
      sum = crc32_z(sum, buffer.data(), made);
      total += made;
    }
    inflateEnd(&stream);
    return state == Z_STREAM_END && total == size && sum == checksum;
  }

  MappedFile file_;
  Bytes bytes_;
};

}  // namespace

void check_zip_archive(const std::string& path) { Archive(path).check(); }

}  // namespace kinflow
