// zlib between a file and its reader.
#include "kinflow/data/unzipped_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

}  // namespace

/// zlib's stream over the bytes that `read` gives.
class UnzippedBytes::Inflater {
 public:
  Inflater(Read read, std::string first, std::string source)
      : read_(std::move(read)), input_(std::move(first)), source_(std::move(source)) {
    // 15: the largest window; 16: a gzip header.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
    take(input_.size());
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::size_t read(char* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      // zlib counts in 32 bits.
      const std::size_t part = std::min<std::size_t>(count - done, kMostAtOnce);
      const std::size_t got = read_part(to + done, part);
      done += got;
      if (got < part) break;
    }
    return done;
  }

  std::uint64_t bytes_taken() const { return taken_ - stream_.avail_in; }

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  static constexpr std::size_t kMostAtOnce = 1 << 30;

  std::size_t read_part(char* to, std::size_t count) {
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

  void take(std::size_t count) {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    taken_ += count;
  }

  Read read_;
  std::string input_;
  std::string source_;
  z_stream stream_ = {};
  std::uint64_t taken_ = 0;
  bool between_members_ = false;
};

UnzippedBytes::UnzippedBytes(Read read, std::string source) : read_(std::move(read)) {
  first_.resize(kZstdMagic.size());
  first_.resize(read_(first_.data(), first_.size()));
  if (first_ == kZstdMagic) {
    throw InputError(source +
                     ": expected text, plain or gzipped, found zstd data; unpack them "
                     "with zstd -d");
  }
  if (!first_.starts_with(kGzipMagic)) return;
  inflater_ = std::make_unique<Inflater>(std::move(read_), std::move(first_),
                                         std::move(source));
}

UnzippedBytes::~UnzippedBytes() = default;
UnzippedBytes::UnzippedBytes(UnzippedBytes&&) noexcept = default;
UnzippedBytes& UnzippedBytes::operator=(UnzippedBytes&&) noexcept = default;

std::size_t UnzippedBytes::read(char* to, std::size_t count) {
  if (inflater_) return inflater_->read(to, count);
  const std::size_t known = std::min(first_.size(), count);
  std::memcpy(to, first_.data(), known);
  first_.erase(0, known);
  const std::size_t got =
      known + (known < count ? read_(to + known, count - known) : 0);
  taken_ += got;
  return got;
}

std::uint64_t UnzippedBytes::bytes_taken() const {
  return inflater_ ? inflater_->bytes_taken() : taken_;
}

}  // namespace kinflow
