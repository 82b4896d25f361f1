// Waking, sharing out and waiting.
#include "kinflow/core/workers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace kinflow {
namespace {

// Turns of an empty loop before a thread sleeps: some ten microseconds, the time
// between two loops of a training step.
constexpr int kSpins = 500;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Returns once `value` is no longer `old`.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old);
}

std::unique_ptr<Workers>& team_of_process() {
  static auto team = std::make_unique<Workers>(1);
  return team;
}

}  // namespace

Workers& shared_workers() { return *team_of_process(); }

void set_worker_threads(std::int64_t threads) {
  auto& team = team_of_process();
  if (team->threads() != threads) team = std::make_unique<Workers>(threads);
}

Workers::Workers(std::int64_t threads) {
  try {
    for (std::int64_t i = 1; i < threads; ++i) {
      team_.emplace_back([this, i] { wait_for_work(i); });
    }
  } catch (...) {
    dismiss();
    throw;
  }
}

Workers::~Workers() { dismiss(); }

void Workers::dismiss() {
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (auto& thread : team_) thread.join();
}

void Workers::run_turns(std::int64_t turns, Call call, const void* work) {
  if (team_.empty() || turns <= 1 ||
      is_in_use_.exchange(true, std::memory_order_acquire)) {
    for (std::int64_t i = 0; i < turns; ++i) call(work, i, 0);
    return;
  }
  call_ = call;
  work_ = work;
  turns_ = turns;
  next_turn_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<std::uint32_t>(team_.size()), std::memory_order_relaxed);
  round_.fetch_add(2, std::memory_order_release);
  round_.notify_all();
  take_turns(0);
  for (auto busy = busy_.load(std::memory_order_acquire); busy != 0;
       busy = busy_.load(std::memory_order_acquire)) {
    wait_while(busy_, busy);
  }
  const auto error = std::exchange(error_, nullptr);
  is_in_use_.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

void Workers::take_turns(std::int64_t thread) {
  try {
    for (;;) {
      const auto turn = next_turn_.fetch_add(1, std::memory_order_relaxed);
      if (turn >= turns_) return;
      call_(work_, turn, thread);
    }
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
    next_turn_.store(turns_, std::memory_order_relaxed);
  }
}

void Workers::wait_for_work(std::int64_t thread) {
  std::uint32_t seen = 0;
  for (;;) {
    wait_while(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (seen % 2 == 1) return;
    take_turns(thread);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace kinflow
