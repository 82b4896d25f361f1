// Where the arithmetic runs: the device by name, and the number of threads.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace kinflow {

/// "cpu" or "cuda"; InputError for another name, or for cuda where there is none.
at::Device find_device(const std::string& name);

/// Bounds the threads of tensors and of BLAS alike.
void set_threads(std::int64_t threads);
/// Threads of LibTorch alone: after work they spin for a while, on cores that the team
/// may need.
void set_tensor_threads(std::int64_t threads);

}  // namespace kinflow
