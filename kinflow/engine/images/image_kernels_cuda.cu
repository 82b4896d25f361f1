// Dequantisation and Adamax, one pass each.
#include "kinflow/core/cuda_memory.h"
#include "kinflow/engine/images/adamax_number.h"
#include "kinflow/engine/images/image_kernels_cuda.h"

namespace kinflow {
namespace {

constexpr int kThreads = 256;

unsigned blocks_of(std::int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

__device__ std::int64_t my_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ void dequantize_kernel(DequantizeCuda work) {
  const std::int64_t index = my_index(), numbers = work.from.numbers;
  if (index >= work.images * numbers) return;
  const std::int64_t row = work.rows[index / numbers];
  const auto round = static_cast<std::uint64_t>(*work.round);
  work.result[index] = dequantized(work.from, round, row, index % numbers,
                                   is_mirrored(work.from, round, row));
}

__global__ void adamax_kernel(AdamaxCuda work) {
  const std::int64_t i = my_index();
  if (i >= work.count || !*work.sound) return;
  const double correction =
      1 - pow(kAdamaxFirstDecay, static_cast<double>(*work.steps + 1));
  const auto rate = static_cast<float>(*work.rate / correction);
  float slope = work.gradient[i] * static_cast<float>(*work.factor);
  if (i < work.decaying) slope += work.weight_decay * work.values[i];
  move({work.values[i], work.first_moment[i], work.infinity_norm[i]}, slope, rate);
}

__global__ void count_step_kernel(AdamaxCuda work) {
  if (*work.sound) ++*work.steps;
}

}  // namespace

void launch_dequantize(const DequantizeCuda& work, void* stream) {
  dequantize_kernel<<<blocks_of(work.images * work.from.numbers), kThreads, 0,
                      static_cast<cudaStream_t>(stream)>>>(work);
  check_cuda(cudaGetLastError(), "dequantising");
}

void launch_adamax(const AdamaxCuda& work, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  adamax_kernel<<<blocks_of(work.count), kThreads, 0, queue>>>(work);
  count_step_kernel<<<1, 1, 0, queue>>>(work);
  check_cuda(cudaGetLastError(), "a step of Adamax");
}

}  // namespace kinflow
