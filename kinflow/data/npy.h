// NumPy's .npy arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

/// An array as float64, whatever the file held.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;  ///< row-major (C order), also for Fortran files
};

/// What an .npy file says of its numbers.
struct NpyLayout {
  std::string dtype;  ///< "f8" from "<f8"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t count = 0;        ///< of elements
  std::uint64_t data_offset = 0;  ///< in the file
  std::uint64_t element_bytes = 0;
};

/// Reads an array in parts along its first axis. The layout is checked against the
/// length of the file when the reader is made. A pipe is read to its end first.
class NpyReader {
 public:
  explicit NpyReader(const std::string& path);
  /// Bytes in memory, which must outlive the reader; `source` stands for the file.
  NpyReader(std::string_view bytes, const std::string& source);

  const NpyLayout& layout() const { return layout_; }
  /// Entries of the first axis; 1 for an array without axes.
  std::int64_t rows() const;
  /// The values of some entries of the first axis, row-major.
  std::vector<double> read(std::int64_t first, std::int64_t count) const;

 private:
  using ReadAt = std::function<void(std::uint64_t offset, void* to, std::size_t count)>;

  void read_layout(std::uint64_t file_bytes);

  std::string source_;
  ReadAt read_at_;
  NpyLayout layout_;
};

/// Reads versions 1.0 to 3.0, C or Fortran order, little-endian f4 f8 i1 i2 i4 i8 u1 u2
/// u4 u8 and bool. Sizes are checked against the length of the file before memory is
/// spent. Integers that float64 cannot hold exactly are refused. Throws InputError.
NpyArray read_npy(const std::string& path);

/// The same for bytes in memory; `source` stands for the file in messages.
NpyArray parse_npy(std::string_view bytes, const std::string& source);

/// What stands before the numbers in a file of float64 in C order. For shapes of two
/// axes it has always the same length.
std::string npy_preamble(const std::vector<std::int64_t>& shape);

/// Writes float64 in C order, atomically.
/// @param values  row-major, as many as the product of `shape`
void write_npy(const std::string& path, const std::vector<std::int64_t>& shape,
               std::span<const double> values);
/// The same for uint8.
void write_npy(const std::string& path, const std::vector<std::int64_t>& shape,
               std::span<const std::uint8_t> values);

}  // namespace kinflow
