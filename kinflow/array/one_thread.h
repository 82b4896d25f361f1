// Arithmetic in the calling thread alone.
#pragma once

#include <cstdint>

#include "kinflow/array/device.h"
#include "kinflow/core/workers.h"

namespace kinflow {

/// While it lives, our own loops and BLAS compute in the thread that calls them, so
/// results do not depend on the number of threads.
class OneThreadEach {
 public:
  OneThreadEach() { set_threads(1); }
  ~OneThreadEach() { set_threads(before_); }
  OneThreadEach(const OneThreadEach&) = delete;
  OneThreadEach& operator=(const OneThreadEach&) = delete;

 private:
  std::int64_t before_ = shared_workers().threads();
};

}  // namespace kinflow
