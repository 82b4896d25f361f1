// A standardisation as arrays of a model file.
#pragma once

#include <cstdint>
#include <string>

#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/flow/standardization.h"

namespace kinflow {

/// InputError unless means are finite and deviations positive.
void check_location(const Array& mean, const Array& deviation, const std::string& name,
                    const std::string& path);

/// Adds NAME.mean, NAME.deviation and those of the maps that it has.
void add_standardization(const std::string& name, const Standardization& by,
                         NamedTensors& tensors);
/// Reads them back; every number is checked.
/// @param path  of the file, for messages
Standardization standardization_from(const NamedTensors& tensors,
                                     const std::string& name, std::int64_t columns,
                                     const std::string& path);

}  // namespace kinflow
