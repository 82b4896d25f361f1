// Tensors by name in safetensors files.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kinflow/array/array.h"

namespace kinflow {

using NamedTensors = std::map<std::string, Array>;

/// Writes arrays of type float32, float64, int64 or bool, atomically, with a hash of
/// all numbers in the metadata.
void save_tensors(const std::string& path,
                  const std::map<std::string, std::string>& metadata,
                  const NamedTensors& tensors);

/// Metadata and arrays of a file, on the CPU. Throws InputError, also where the file
/// has a hash that its numbers do not have.
std::pair<std::map<std::string, std::string>, NamedTensors> load_tensors(
    const std::string& path);

/// An array by name; InputError that starts with `source` where it is missing or has
/// another shape or type.
Array expect_tensor(const NamedTensors& tensors, const std::string& name,
                    nd::IntArrayRef shape, nd::ScalarType type,
                    const std::string& source);

}  // namespace kinflow
