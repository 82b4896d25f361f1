// Where the arithmetic runs: the device by name, and the number of threads.
#pragma once

#include <cstdint>
#include <string>

#include "kinflow/array/array.h"

namespace kinflow {

/// "cpu" or "cuda"; InputError for another name, or for cuda where there is none.
nd::Device find_device(const std::string& name);

/// Bounds the threads of our own loops and of BLAS alike.
void set_threads(std::int64_t threads);

}  // namespace kinflow
