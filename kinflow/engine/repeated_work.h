// Work on a GPU that is recorded once and then repeated by one launch.
#pragma once

#include <functional>
#include <memory>

namespace kinflow {

/// Work on a GPU that is done again and again.
class RepeatedWork {
 public:
  virtual ~RepeatedWork() = default;
  virtual void run() = 0;
};

/// Work that is recorded in its second run and from then on repeated by one launch,
/// which costs the CPU little, however many kernels it has. Null where this build has
/// no CUDA. A recording needs a stream of the thread's own (array/device_stream.h); on
/// the common one the work is done anew in each run.
/// @param work  queues the same kernels on the same memory each time, on the thread's
///              stream, and never waits for the GPU
std::unique_ptr<RepeatedWork> make_repeated_work(std::function<void()> work);

}  // namespace kinflow
