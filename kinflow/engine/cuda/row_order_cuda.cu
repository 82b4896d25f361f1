// The generator of core/random.cpp and its permutation in a kernel.
#include "kinflow/core/counter_random.h"
#include "kinflow/core/cuda_memory.h"
#include "kinflow/core/random.h"
#include "kinflow/engine/cuda/row_order_cuda.h"

namespace kinflow {
namespace {

constexpr int kThreads = 32;

__device__ std::uint64_t rotated(std::uint64_t x, int by) {
  return (x << by) | (x >> (64 - by));
}

struct Generator {
  std::uint64_t state[4];

  __device__ Generator(std::uint64_t seed, std::uint64_t stream) {
    std::uint64_t mixed = seed;
    std::uint64_t from = splitmix64(mixed) ^ (stream * 0xd1342543de82ef95ULL + 1);
    for (auto& word : state) word = splitmix64(from);
  }
  __device__ std::uint64_t next() {
    const std::uint64_t result = rotated(state[0] + state[3], 23) + state[0];
    const std::uint64_t t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotated(state[3], 45);
    return result;
  }
  __device__ std::int64_t below(std::int64_t bound) {
    const auto range = static_cast<std::uint64_t>(bound);
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % range;
    std::uint64_t value;
    do {
      value = next();
    } while (value >= limit);
    return static_cast<std::int64_t>(value % range);
  }
};

__global__ void row_order_kernel(std::uint64_t seed, std::uint64_t first_stream,
                                 std::int64_t epochs, std::int64_t rows,
                                 std::int64_t* orders) {
  const std::int64_t epoch =
      static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (epoch >= epochs) return;
  Generator random(seed, first_stream + static_cast<std::uint64_t>(epoch));
  std::int64_t* order = orders + epoch * rows;
  for (std::int64_t i = 0; i < rows; ++i) order[i] = i;
  for (std::int64_t i = rows - 1; i > 0; --i) {
    const std::int64_t j = random.below(i + 1);
    const std::int64_t swapped = order[i];
    order[i] = order[j];
    order[j] = swapped;
  }
}

}  // namespace

void row_orders(std::uint64_t seed, std::int64_t first_epoch, std::int64_t epochs,
                std::int64_t rows, std::int64_t* order, void* cuda_stream) {
  if (epochs < 1 || rows < 1) return;
  const auto blocks = static_cast<unsigned>((epochs + kThreads - 1) / kThreads);
  row_order_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(cuda_stream)>>>(
      seed, stream(Purpose::row_order, first_epoch), epochs, rows, order);
  check_cuda(cudaGetLastError(), "launching the kernel of row orders");
}

}  // namespace kinflow
