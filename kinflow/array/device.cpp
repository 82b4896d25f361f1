// Devices, and the threads of OpenBLAS and our own loops.
#include "kinflow/array/device.h"

#include <cblas.h>

#include <cstdlib>

#include "kinflow/core/error.h"
#include "kinflow/core/workers.h"

namespace kinflow {

nd::Device find_device(const std::string& name) {
  if (name == "cpu") return nd::kCPU;
  if (name != "cuda") {
    throw InputError("--device: expected cpu or cuda, found '" + name + "'");
  }
  if (!nd::hasCUDA()) {
    throw InputError(
        "--device: expected a CUDA device, found none that this build can use");
  }
#ifdef KINFLOW_CUDA
  // Sums by atomic additions would differ from run to run.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
#endif
  return nd::Device(nd::kCUDA, 0);
}

void set_threads(std::int64_t threads) {
#ifdef KINFLOW_CUDA
  at::set_num_threads(static_cast<int>(threads));
#endif
  openblas_set_num_threads(static_cast<int>(threads));
  set_worker_threads(threads);
}

}  // namespace kinflow
