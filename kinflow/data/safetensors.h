// The safetensors container: named arrays and text metadata in one file that holds no
// code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

/// One array. `data` is a view: into the file that was read (kept alive by the
/// SafeTensors it came with) or into memory of the caller who writes. It is
/// little-endian and row-major and may stand at any address: copy it with memcpy.
struct SafeTensor {
  std::string name;
  std::string dtype;  ///< BOOL U8 I8 U16 I16 F16 BF16 U32 I32 F32 U64 I64 F64 ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::vector<SafeTensor> tensors;  ///< in the order of their data in the file
  std::shared_ptr<const std::vector<std::byte>> storage;
};

/// Bytes of one element, 0 for an unknown dtype.
std::int64_t safetensor_element_bytes(std::string_view dtype);

/// Reads and checks a file: the header's length, its JSON, that every array has a
/// known dtype, a shape and a byte range which agree, and that the ranges fill the data
/// without overlap or hole. Nothing is allocated for the data before that. Throws
/// InputError.
SafeTensors read_safetensors(const std::string& path);

/// The metadata alone, with the same checks but that of the data; empty for what is no
/// regular file, which could not be read again.
std::map<std::string, std::string> read_safetensors_metadata(const std::string& path);

/// The same for bytes in memory; `source` stands for the file in messages.
SafeTensors parse_safetensors(std::string_view bytes, const std::string& source);

/// Writes atomically, in the given order. Throws InputError where it cannot, and
/// std::logic_error for arrays whose dtype, shape and data disagree or that share a
/// name.
void write_safetensors(const std::string& path,
                       const std::map<std::string, std::string>& metadata,
                       const std::vector<SafeTensor>& tensors);

}  // namespace kinflow
