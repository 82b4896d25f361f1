// Numbers into arrays, and out of them.
#pragma once

#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/core/random.h"

namespace kinflow {

/// The numbers of an array on any device, row by row.
std::vector<double> numbers_of(const Array& tensor);

/// Standard normal numbers on the CPU, float64, drawn row by row.
Array normal_numbers(nd::IntArrayRef shape, Random& random);

}  // namespace kinflow
