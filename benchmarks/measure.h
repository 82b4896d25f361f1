// Time and memory of a piece of work.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kinflow/core/memory.h"

namespace kinflow {

inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Seconds of the processor that this process has used. Other programs disturb them
/// less than those of the clock.
inline double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double processor_seconds_of(const std::function<void()>& work) {
  const double start = processor_seconds();
  work();
  return processor_seconds() - start;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The most memory that this process has held.
inline double peak_megabytes() {
  std::ifstream file("/proc/self/status");
  const std::string status((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = value_of_line(status, "VmHWM");
  return bytes ? *bytes / (1024 * 1024) : std::numeric_limits<double>::quiet_NaN();
}

/// Runs the work in a process of its own.
template <typename Result>
Result in_own_process(const std::function<Result()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    try {
      const Result result = work();
      _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  Result result;
  const bool is_read = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!is_read) throw std::runtime_error("a case failed");
  return result;
}

}  // namespace kinflow
