// Errors, memory and waiting of the CUDA runtime.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace kinflow {

/// Throws std::runtime_error where a call of the CUDA runtime failed.
/// @param what  what was tried, for the message
inline void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string("CUDA: ") + what + ": " +
                           cudaGetErrorString(status));
}

/// Waits for copies and the like that were queued without a stream: threads have
/// streams of their own, which would not wait for them.
inline void wait_for_uploads() {
  check_cuda(cudaStreamSynchronize(nullptr), "waiting for copies");
}

/// Shared while work is recorded: waiting for the whole device then would spoil the
/// recording.
inline std::shared_mutex& recording_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

/// Waits for all work on the device. For destructors: failures are of no interest.
inline void wait_for_device() {
  const std::lock_guard nothing_is_recorded(recording_mutex());
  cudaDeviceSynchronize();
}

/// Who is asked for memory where the device has none left: another allocator may keep
/// some that nobody uses. Null: nobody.
inline std::atomic<void (*)()>& keeper_of_free_memory() {
  static std::atomic<void (*)()> give_back = nullptr;
  return give_back;
}

/// Device memory, which does not wait for work on the device.
inline void* take_device_memory(std::size_t bytes) {
  void* memory = nullptr;
  auto status = cudaMallocAsync(&memory, bytes, nullptr);
  if (auto* const give_back = keeper_of_free_memory().load();
      status == cudaErrorMemoryAllocation && give_back != nullptr) {
    cudaGetLastError();  // this failure is not that of the next call
    give_back();
    status = cudaMallocAsync(&memory, bytes, nullptr);
  }
  check_cuda(status, "taking device memory");
  return memory;
}

/// An array in device memory, owned. Taking and giving back memory does not wait for
/// work on the device: call wait_for_device() where some may still use the array.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) : count_(count) {
    if (count == 0) return;
    data_ = static_cast<T*>(take_device_memory(count * sizeof(T)));
    wait_for_uploads();
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    if (values.empty()) return;
    check_cuda(
        cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
        "copying to the device");
    wait_for_uploads();
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceArray() {
    if (data_ != nullptr) cudaFreeAsync(data_, nullptr);
  }

  T* get() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace kinflow
