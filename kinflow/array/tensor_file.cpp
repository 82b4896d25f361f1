// Between tensors and the bytes of a safetensors file.
#include "kinflow/array/tensor_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/data/safetensors.h"

namespace kinflow {
namespace {

const std::vector<std::pair<std::string, nd::ScalarType>>& type_names() {
  static const std::vector<std::pair<std::string, nd::ScalarType>> names = {
      {"F32", nd::kFloat},
      {"F64", nd::kDouble},
      {"I64", nd::kLong},
      {"BOOL", nd::kBool}};
  return names;
}

std::string type_name(nd::ScalarType type) {
  for (const auto& [name, known] : type_names()) {
    if (known == type) return name;
  }
  throw std::logic_error("a tensor type that model files do not hold");
}

nd::ScalarType type_of(const SafeTensor& tensor, const std::string& path) {
  for (const auto& [name, known] : type_names()) {
    if (name == tensor.dtype) return known;
  }
  throw InputError(
      fmt::format("{}: tensor '{}': expected type F32, F64, I64 or BOOL, "
                  "found {}",
                  path, tensor.name, tensor.dtype));
}

constexpr const char* kChecksumKey = "checksum";
constexpr std::size_t kMostAxes = 8;  // of an array

/// A hash of all numbers, which tells a changed bit.
std::string checksum_of(const NamedTensors& tensors) {
  std::uint64_t hash = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto* bytes = static_cast<const std::byte*>(tensor.data_ptr());
    const auto size = static_cast<std::size_t>(tensor.nbytes());
    const auto rest = size % sizeof(double);
    // An array may be a part of another and stand anywhere in it.
    hash = hash_of(std::span(bytes, size), hash);
    if (rest == 0) continue;
    double last = 0;
    std::memcpy(&last, bytes + size - rest, rest);
    hash = hash_of(std::span<const double>(&last, 1), hash);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

void save_tensors(const std::string& path,
                  const std::map<std::string, std::string>& metadata,
                  const NamedTensors& tensors) {
  NamedTensors kept;
  std::vector<SafeTensor> out;
  for (const auto& [name, tensor] : tensors) {
    const auto& last = kept[name] = tensor.detach().cpu().contiguous();
    out.push_back({.name = name,
                   .dtype = type_name(last.scalar_type()),
                   .shape = last.sizes().vec(),
                   .data = {static_cast<const std::byte*>(last.data_ptr()),
                            static_cast<std::size_t>(last.nbytes())}});
  }
  auto with_checksum = metadata;
  with_checksum[kChecksumKey] = checksum_of(kept);
  write_safetensors(path, with_checksum, out);
}

std::pair<std::map<std::string, std::string>, NamedTensors> load_tensors(
    const std::string& path) {
  const auto file = read_safetensors(path);
  NamedTensors tensors;
  for (const auto& stored : file.tensors) {
    if (stored.shape.size() > kMostAxes) {
      throw InputError(
          fmt::format("{}: tensor '{}': expected at most {} axes, found {}", path,
                      stored.name, kMostAxes, stored.shape.size()));
    }
    auto tensor = nd::empty(stored.shape, type_of(stored, path));
    if (!stored.data.empty()) {
      std::memcpy(tensor.data_ptr(), stored.data.data(), stored.data.size());
    }
    tensors[stored.name] = tensor;
  }
  const auto written = file.metadata.find(kChecksumKey);
  if (written != file.metadata.end() && written->second != checksum_of(tensors)) {
    throw InputError(path +
                     ": expected the numbers that were written, found damaged numbers");
  }
  return {file.metadata, std::move(tensors)};
}

Array expect_tensor(const NamedTensors& tensors, const std::string& name,
                    nd::IntArrayRef shape, nd::ScalarType type,
                    const std::string& source) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw InputError(source + ": expected a tensor '" + name + "', found none");
  }
  const auto& tensor = found->second;
  if (tensor.sizes() != shape || tensor.scalar_type() != type) {
    throw InputError(fmt::format(
        "{}: tensor '{}': expected {} [{}], found {} [{}]", source, name,
        type_name(type), fmt::join(shape.vec(), ", "), type_name(tensor.scalar_type()),
        fmt::join(tensor.sizes().vec(), ", ")));
  }
  return tensor;
}

}  // namespace kinflow
