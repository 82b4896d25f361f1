// A queue of its own on a GPU for each thread that trains.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>

namespace kinflow {

/// A queue on a GPU beside the common one; none on a CPU.
inline std::optional<c10::Stream> take_device_stream(c10::Device device) {
  if (device.is_cpu()) return {};
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

/// As long as it lives, the calling thread's work on the device goes into a queue of
/// its own, beside that of other threads. Does nothing on a CPU. Results that were
/// queued elsewhere must be complete before they are used here.
class DeviceStream {
 public:
  explicit DeviceStream(c10::Device device)
      : DeviceStream(take_device_stream(device)) {}
  /// The same with a queue that is used again: recorded work belongs to one.
  explicit DeviceStream(const std::optional<c10::Stream>& stream) {
    if (stream) guard_.emplace(*stream);
  }

 private:
  std::optional<c10::StreamGuard> guard_;
};

/// Waits for what the calling thread has queued on the device, so that other threads
/// can use it. Does nothing on a CPU.
inline void wait_for_stream(c10::Device device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
}

}  // namespace kinflow
