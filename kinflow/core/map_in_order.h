// Work on a sequence of items by several threads, with results in the order of the
// items.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace kinflow {

/// Calls give(work(item)) for every item of take() until that gives none. One thread at
/// a time is in take() and one in give(), both in the order of the items; work() runs
/// on `threads` threads, of which the caller is one. As many items are held as there
/// are threads. The exception of the earliest item that fails, wherever it fails, ends
/// everything and is thrown again; nothing after that item is given.
/// @param take  gives an optional item  @param work  gives a result
template <typename Take, typename Work, typename Give>
void map_in_order(std::int64_t threads, const Take& take, const Work& work,
                  const Give& give) {
  std::mutex taking, giving;
  std::condition_variable next_turn;
  std::atomic<bool> is_over = false;
  std::int64_t taken = 0;      // items, under `taking`
  std::int64_t given = 0;      // items, under `giving`
  std::exception_ptr failure;  // of the earliest item, under `giving`

  // Takes an item and sees it through; false where there was none.
  const auto serve_one = [&] {
    std::int64_t number = 0;
    std::exception_ptr error;
    decltype(take()) item;
    {
      const std::lock_guard lock(taking);
      if (is_over) return false;
      try {
        item = take();
      } catch (...) {
        error = std::current_exception();
      }
      if (!item) is_over = true;
      if (!item && !error) return false;
      number = taken++;
    }
    std::optional<decltype(work(std::move(*item)))> result;
    try {
      if (item) result.emplace(work(std::move(*item)));
    } catch (...) {
      error = std::current_exception();
      is_over = true;
    }
    std::unique_lock lock(giving);
    next_turn.wait(lock, [&] { return given == number; });
    try {
      if (result && !failure) give(std::move(*result));
    } catch (...) {
      error = std::current_exception();
      is_over = true;
    }
    if (!failure) failure = error;
    ++given;
    next_turn.notify_all();
    return true;
  };
  const auto serve = [&] {
    while (serve_one()) {
    }
  };

  {
    std::vector<std::jthread> helpers;
    try {
      for (std::int64_t i = 1; i < threads; ++i) helpers.emplace_back(serve);
    } catch (...) {
      is_over = true;
      throw;
    }
    serve();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kinflow
