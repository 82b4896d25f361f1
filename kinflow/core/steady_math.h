// Arithmetic on tensors whose last bits depend neither on the number of threads nor on
// a number's place among others.
#pragma once

#include <ATen/core/Tensor.h>

namespace kinflow {

/// Sums over the last axis, in float64. LibTorch's own sums over many numbers are
/// shared among the threads.
at::Tensor steady_sum(const at::Tensor& numbers);

/// function(x) of every number, float64 on the CPU. LibTorch computes numbers in
/// vectors, and those that are left over in another way.
at::Tensor steady_map(const at::Tensor& numbers, double (*function)(double));

}  // namespace kinflow
