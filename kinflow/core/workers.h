// Threads that wait for work, for loops whose every turn takes some microseconds or
// more.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace kinflow {

/// A team of threads, the caller's among them. A thread that has finished a turn takes
/// the next one that nobody has taken, so that turns of unequal length cost little.
/// run() allocates nothing.
class Workers {
 public:
  /// @param threads  at least 1; 1 makes every loop a plain one
  explicit Workers(std::int64_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::int64_t threads() const { return static_cast<std::int64_t>(team_.size()) + 1; }

  /// Calls work(turn, thread) for turns 0 .. turns - 1; thread is in 0 .. threads() -
  /// 1, and two calls at the same time have different ones. Throws the first exception
  /// of any turn, after all threads have stopped. While the team is at work, as within
  /// a turn, another run() is a plain loop of its caller, with thread 0.
  template <typename Work>
  void run(std::int64_t turns, const Work& work) {
    run_turns(
        turns,
        [](const void* w, std::int64_t turn, std::int64_t thread) {
          (*static_cast<const Work*>(w))(turn, thread);
        },
        &work);
  }

 private:
  using Call = void (*)(const void* work, std::int64_t turn, std::int64_t thread);

  void run_turns(std::int64_t turns, Call call, const void* work);
  void take_turns(std::int64_t thread);
  void wait_for_work(std::int64_t thread);
  void dismiss();

  std::atomic<bool> is_in_use_{false};
  Call call_ = nullptr;
  const void* work_ = nullptr;
  std::int64_t turns_ = 0;
  std::atomic<std::int64_t> next_turn_{0};
  std::atomic<std::uint32_t> round_{
      0};  // counts calls of run(); odd numbers end the team
  std::atomic<std::uint32_t> busy_{0};  // threads of the team that are not done
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> team_;
};

/// The team of the whole process: as many threads as set_worker_threads() said last, 1
/// before that.
Workers& shared_workers();
/// Must not be called while the team is at work.
void set_worker_threads(std::int64_t threads);

}  // namespace kinflow
