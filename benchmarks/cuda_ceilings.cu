// Kernels that do nothing but arithmetic, and a large copy.
#include <cstdint>

#include "benchmarks/cuda_ceilings.h"
#include "kinflow/core/cuda_memory.h"
#include "kinflow/flow/cuda/tensor_products.cuh"

namespace kinflow {
namespace {

constexpr int kThreads = 256, kBlocks = 132 * 8, kChains = 16, kRounds = 8000;
constexpr int kProducts = 8;

__global__ void multiply_kernel(float* out) {
  float chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = static_cast<float>(threadIdx.x + i);
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) chains[i] = fmaf(chains[i], 1.0001f, 0.5f);
  }
  float sum = 0;
  for (const float chain : chains) sum += chain;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void product_kernel(float* out) {
  float c[kProducts][4] = {};
  const std::uint32_t from = __float_as_uint(1.0f + 1e-3f * threadIdx.x);
  const std::uint32_t a[4] = {from, from + 4096, from + 8192, from + 12288};
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (auto& tile : c) tensor_products::multiply_add(tile, a, from, from + 20480);
  }
  float sum = 0;
  for (const auto& tile : c) sum += tile[0] + tile[1] + tile[2] + tile[3];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Milliseconds of the second of two runs.
template <typename Work>
double milliseconds(const Work& work) {
  cudaEvent_t begin, end;
  check_cuda(cudaEventCreate(&begin), "creating an event");
  check_cuda(cudaEventCreate(&end), "creating an event");
  work();
  check_cuda(cudaEventRecord(begin), "recording an event");
  work();
  check_cuda(cudaEventRecord(end), "recording an event");
  check_cuda(cudaEventSynchronize(end), "waiting for a measurement");
  float result = 0;
  check_cuda(cudaEventElapsedTime(&result, begin, end), "reading a clock");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return result;
}

}  // namespace

CudaCeilings measure_ceilings() {
  CudaCeilings result;
  constexpr double kAllThreads = static_cast<double>(kThreads) * kBlocks;
  const DeviceArray<float> out(static_cast<std::size_t>(kThreads) * kBlocks);
  const double multiplying =
      milliseconds([&] { multiply_kernel<<<kBlocks, kThreads>>>(out.get()); });
  result.float32_flops = 2.0 * kAllThreads * kRounds * kChains / multiplying * 1e3;
  const double producing =
      milliseconds([&] { product_kernel<<<kBlocks, kThreads>>>(out.get()); });
  result.tensor_core_flops =
      2.0 * 16 * 8 * 8 * (kAllThreads / 32) * kRounds * kProducts / producing * 1e3;
  check_cuda(cudaGetLastError(), "measuring ceilings");
  constexpr std::size_t kNumbers = std::size_t{1} << 29;
  const DeviceArray<float> from(kNumbers), to(kNumbers);
  const double copying = milliseconds([&] {
    check_cuda(cudaMemcpyAsync(to.get(), from.get(), kNumbers * sizeof(float),
                               cudaMemcpyDeviceToDevice),
               "copying");
  });
  result.copy_bytes = 2.0 * kNumbers * sizeof(float) / copying * 1e3;
  return result;
}

}  // namespace kinflow
