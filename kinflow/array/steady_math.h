// Arithmetic on arrays whose last bits depend neither on the number of threads nor on

#include "kinflow/array/array.h"
// a number's place among others.
#pragma once

namespace kinflow {

/// Sums over the last axis, in float64. An array library may share a sum over many
/// numbers among the threads.
Array steady_sum(const Array& numbers);

/// function(x) of every number, float64 on the CPU. An array library may compute
/// numbers in vectors, and those that are left over in another way.
Array steady_map(const Array& numbers, double (*function)(double));

}  // namespace kinflow
