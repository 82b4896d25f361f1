// Steps of a training allocate nothing: the allocator of the process is replaced by one
// that counts and asks the C library for memory.
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/aligned_vector.h"
#include "small_trainings.h"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
}

namespace {

std::atomic<bool> is_counting{false};
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> bytes_in_use{0};

void* counted(void* memory) {
  if (memory == nullptr) return nullptr;
  if (is_counting.load(std::memory_order_relaxed)) ++allocations;
  bytes_in_use += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}

void forget(void* memory) {
  if (memory != nullptr) {
    bytes_in_use -= static_cast<std::int64_t>(malloc_usable_size(memory));
  }
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return counted(__libc_malloc(size)); }

void* calloc(std::size_t count, std::size_t size) {
  return counted(__libc_calloc(count, size));
}

void* realloc(void* memory, std::size_t size) {
  forget(memory);
  return counted(__libc_realloc(memory, size));
}

void* memalign(std::size_t alignment, std::size_t size) {
  return counted(__libc_memalign(alignment, size));
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return counted(__libc_memalign(alignment, size));
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  void* made = counted(__libc_memalign(alignment, size));
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

void free(void* memory) {
  forget(memory);
  __libc_free(memory);
}

}  // extern "C"

namespace kinflow {
namespace {

constexpr std::int64_t kBatchSize = 130;

template <typename Work>
std::int64_t allocations_of(const Work& work) {
  allocations = 0;
  is_counting = true;
  work();
  is_counting = false;
  return allocations;
}

TrainingSetup setup_of(Structure structure, Estimator estimator, Schedule schedule,
                       std::int64_t replicas, std::int64_t batches,
                       std::int64_t epochs) {
  TrainingSetup setup{
      .law = make_small_law(structure, batches * kBatchSize),
      .replicas = std::vector<ReplicaSetup>(static_cast<std::size_t>(replicas),
                                            {.options = {{.schedule = schedule,
                                                          .estimator = estimator,
                                                          .epochs = epochs,
                                                          .batch_size = kBatchSize,
                                                          .patience = 1000},
                                                         {}}}),
      .type = nd::kFloat};
  for (std::uint64_t r = 0; r < setup.replicas.size(); ++r) {
    setup.replicas[r].seed = r + 1;
  }
  return setup;
}

struct Case {
  Structure structure;
  Estimator estimator;
  Schedule schedule = Schedule::joint;
};
constexpr Case kCases[] = {{Structure::independent, Estimator::pairs},
                           {Structure::per_block, Estimator::memory},
                           {Structure::per_block, Estimator::pairs},
                           {Structure::shared, Estimator::hybrid},
                           {Structure::shared, Estimator::memory, Schedule::grid}};

class Allocation : public testing::Test {
 protected:
  ~Allocation() override { set_threads(1); }
};

// Everything goes through the functions above; otherwise the other tests see nothing.
TEST_F(Allocation, IsCounted) {
  std::vector<float> numbers;
  EXPECT_EQ(allocations_of([&] { numbers.resize(10); }), 1);
  EXPECT_EQ(allocations_of([&] { numbers[3] = 2; }), 0);
  AlignedVector<float> aligned;
  EXPECT_EQ(allocations_of([&] { aligned.resize(10); }), 1);
  EXPECT_GE(allocations_of([] { nd::empty({10}, nd::kFloat); }), 1);
  const auto before = bytes_in_use.load();
  numbers.resize(100000);
  EXPECT_NEAR(static_cast<double>(bytes_in_use - before), 400000, 10000);
}

TEST_F(Allocation, HappensPerEpochAndNotPerStep) {
  for (const std::int64_t threads : {1, 2}) {
    set_threads(threads);
    for (const auto& [structure, estimator, schedule] : kCases) {
      for (const std::int64_t replicas : {1, 2}) {
        const auto count_of = [&](std::int64_t batches) {
          SmallTraining training(
              setup_of(structure, estimator, schedule, replicas, batches, 10));
          training.run(2);
          return allocations_of([&] { training.run(1); });
        };
        const auto few = count_of(10);
        EXPECT_GT(few, 0);
        EXPECT_EQ(count_of(40), few)
            << name_of(structure) << ", estimator " << static_cast<int>(estimator)
            << ", " << replicas << " replicas, " << threads << " threads";
      }
    }
  }
}

TEST_F(Allocation, OfATrainingDoesNotGrowWithItsLength) {
  for (const std::int64_t threads : {1, 2}) {
    set_threads(threads);
    for (const auto& [structure, estimator, schedule] : kCases) {
      SmallTraining training(setup_of(structure, estimator, schedule, 2, 4, 60));
      training.run(3);
      const auto before = bytes_in_use.load();
      training.run(57);
      const auto records =
          static_cast<std::int64_t>(training.trainer().history().size());
      // A vector holds up to twice what it needs.
      EXPECT_LE(bytes_in_use - before,
                2 * records * static_cast<std::int64_t>(sizeof(EpochRecord)))
          << name_of(structure) << ", estimator " << static_cast<int>(estimator);
    }
  }
}

}  // namespace
}  // namespace kinflow
