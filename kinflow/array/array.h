// Array, and the functions nd::... on arrays: kinflow's own on the CPU. A build for
// GPUs takes LibTorch's, whose names and meanings they share.
#pragma once

#ifdef KINFLOW_CUDA
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace kinflow {
namespace nd = at;
using Array = at::Tensor;
}  // namespace kinflow
#else
#include "kinflow/array/functions.h"
#endif
