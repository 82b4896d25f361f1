// Arithmetic in the calling thread alone.
#pragma once

#include <ATen/Parallel.h>

#include "kinflow/core/device.h"

namespace kinflow {

/// While it lives, LibTorch and BLAS compute in the thread that calls them, so results
/// do not depend on the number of threads.
class OneThreadEach {
 public:
  OneThreadEach() { set_threads(1); }
  ~OneThreadEach() { set_threads(before_); }
  OneThreadEach(const OneThreadEach&) = delete;
  OneThreadEach& operator=(const OneThreadEach&) = delete;

 private:
  std::int64_t before_ = at::get_num_threads();
};

}  // namespace kinflow
