// In place of device.cpp, in programs without LibTorch.
#include <cblas.h>

#include "kinflow/core/device.h"
#include "kinflow/core/workers.h"

namespace kinflow {

void set_threads(std::int64_t threads) {
  openblas_set_num_threads(static_cast<int>(threads));
  set_worker_threads(threads);
}

}  // namespace kinflow
