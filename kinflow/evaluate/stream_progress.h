// How far a table is through the flow, for the user.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "kinflow/core/clock.h"
#include "kinflow/core/log.h"
#include "kinflow/core/time_left.h"

namespace kinflow {

/// Progress of work that takes more than a moment.
class StreamProgress {
 public:
  StreamProgress(std::string job, Logger& logger) : logger_(logger) {
    progress_.job = std::move(job);
  }

  void report(double done, double total, const std::string& unit,
              const std::string& status) {
    time_left_.observe(done);
    if (seconds_since(start_) < kSilentSeconds || done >= total) return;
    was_reported_ = true;
    // The whole is reported at the end only, whatever the numbers are rounded to.
    progress_.done = static_cast<std::int64_t>(done);
    progress_.total = static_cast<std::int64_t>(std::ceil(total));
    progress_.unit = unit;
    progress_.status = status;
    progress_.seconds_left = time_left_.seconds_for(total - done);
    logger_.progress(progress_);
  }

  void end(const std::string& status) {
    if (!was_reported_) return;
    progress_.done = progress_.total;
    progress_.status = status;
    logger_.progress(progress_);
  }

 private:
  static constexpr double kSilentSeconds = 2;

  Logger& logger_;
  const Clock::time_point start_ = Clock::now();
  TimeLeft time_left_;
  Progress progress_;
  bool was_reported_ = false;
};

}  // namespace kinflow
