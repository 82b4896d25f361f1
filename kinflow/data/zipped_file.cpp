// zlib between the caller and the file.
#include "kinflow/data/zipped_file.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <stdexcept>

namespace kinflow {

class ZippedFile::Deflater {
 public:
  Deflater() {
    // 15: the largest window; 16: a gzip header.
    if (deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void write(AtomicFile& file, std::string_view bytes) {
    constexpr std::size_t kMostAtOnce = 1 << 30;  // zlib counts in 32 bits
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kMostAtOnce, bytes.size()))) {
      pass(file, bytes.substr(0, kMostAtOnce), Z_NO_FLUSH);
    }
  }
  void finish(AtomicFile& file) { pass(file, {}, Z_FINISH); }

 private:
  void pass(AtomicFile& file, std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_);
      stream_.avail_out = sizeof(output_);
      deflate(&stream_, flush);
      file.write({output_, sizeof(output_) - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

  z_stream stream_ = {};
  char output_[1 << 16];
};

ZippedFile::ZippedFile(const std::string& path) : file_(path) {
  if (path.ends_with(".gz")) deflater_ = std::make_unique<Deflater>();
}

ZippedFile::~ZippedFile() = default;

void ZippedFile::write(std::string_view bytes) {
  deflater_ ? deflater_->write(file_, bytes) : file_.write(bytes);
}

void ZippedFile::overwrite(std::uint64_t offset, std::string_view bytes) {
  if (deflater_) throw std::logic_error("[ZippedFile] gzipped bytes are not replaced");
  file_.overwrite(offset, bytes);
}

void ZippedFile::commit() {
  if (deflater_) deflater_->finish(file_);
  file_.commit();
}

}  // namespace kinflow
