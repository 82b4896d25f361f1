// Numbers into tensors, and out of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "kinflow/core/random.h"

namespace kinflow {

/// The numbers of a tensor on any device, row by row.
std::vector<double> numbers_of(const at::Tensor& tensor);

/// Standard normal numbers on the CPU, float64, drawn row by row.
at::Tensor normal_numbers(at::IntArrayRef shape, Random& random);

}  // namespace kinflow
