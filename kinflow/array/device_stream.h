// A queue of its own on a GPU for each thread that trains.
#pragma once

#include <optional>

#include "kinflow/array/array.h"

#ifdef KINFLOW_CUDA
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#endif

namespace kinflow {

#ifdef KINFLOW_CUDA

using DeviceQueue = c10::Stream;

/// A queue on a GPU beside the common one; none on a CPU.
inline std::optional<DeviceQueue> take_device_stream(nd::Device device) {
  if (device.is_cpu()) return {};
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

/// As long as it lives, the calling thread's work on the device goes into a queue of
/// its own, beside that of other threads. Does nothing on a CPU. Results that were
/// queued elsewhere must be complete before they are used here.
class DeviceStream {
 public:
  explicit DeviceStream(nd::Device device) : DeviceStream(take_device_stream(device)) {}
  /// The same with a queue that is used again: recorded work belongs to one.
  explicit DeviceStream(const std::optional<DeviceQueue>& queue) {
    if (queue) guard_.emplace(*queue);
  }

 private:
  std::optional<c10::StreamGuard> guard_;
};

/// Waits for what the calling thread has queued on the device, so that other threads
/// can use it. Does nothing on a CPU.
inline void wait_for_stream(nd::Device device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

/// Says that the calling thread's queue uses arrays that another thread has made.
inline void keep_for_stream(const Array& array) {
  if (array.is_cpu()) return;
  const auto device = array.device();
  array.record_stream(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

#else

// Without GPUs there are no queues.
struct DeviceQueue {
  nd::Device device() const { return nd::kCPU; }
};
inline std::optional<DeviceQueue> take_device_stream(nd::Device /*device*/) {
  return {};
}
class DeviceStream {
 public:
  explicit DeviceStream(nd::Device /*device*/) {}
  explicit DeviceStream(const std::optional<DeviceQueue>& /*queue*/) {}
};
inline void wait_for_stream(nd::Device /*device*/) {}
inline void keep_for_stream(const Array& /*array*/) {}

#endif

}  // namespace kinflow
