// Devices, and the threads of LibTorch, OpenBLAS and our own loops.
#include "kinflow/core/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <cblas.h>

#include <cstdlib>

#include "kinflow/core/error.h"
#include "kinflow/core/workers.h"

namespace kinflow {

at::Device find_device(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  if (name != "cuda") {
    throw InputError("--device: expected cpu or cuda, found '" + name + "'");
  }
  if (!at::hasCUDA()) {
    throw InputError(
        "--device: expected a CUDA device, found none that this build can use");
  }
  // Sums by atomic additions would differ from run to run.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  return at::Device(at::kCUDA, 0);
}

void set_threads(std::int64_t threads) {
  set_tensor_threads(threads);
  openblas_set_num_threads(static_cast<int>(threads));
  set_worker_threads(threads);
}

void set_tensor_threads(std::int64_t threads) {
  at::set_num_threads(static_cast<int>(threads));
}

}  // namespace kinflow
