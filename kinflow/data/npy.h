// NumPy's .npy arrays.
#pragma once

#include <cstdint>
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

/// Reads versions 1.0 to 3.0, C or Fortran order, little-endian f4 f8 i1 i2 i4 i8 u1 u2
/// u4 u8 and bool. Sizes are checked against the length of the file before memory is
/// spent. Integers that float64 cannot hold exactly are refused. Throws InputError.
NpyArray read_npy(const std::string& path);

/// The same for bytes in memory; `source` stands for the file in messages.
NpyArray parse_npy(std::string_view bytes, const std::string& source);

/// Writes float64 in C order, atomically.
/// @param values  row-major, as many as the product of `shape`
void write_npy(const std::string& path, const std::vector<std::int64_t>& shape,
               std::span<const double> values);

}  // namespace kinflow
