// How long a job will still take, by how fast it has been lately.
#pragma once

#include <deque>
#include <optional>

#include "kinflow/core/clock.h"

namespace kinflow {

/// Rate of a job in its last kWindowSeconds. What was before the first observation is
/// set-up and does not count.
class TimeLeft {
 public:
  static constexpr double kWindowSeconds = 20;
  /// No rate is known before so much time has been seen.
  static constexpr double kLeastSeconds = 2;

  /// Says how many units are done.
  void observe(double done, Clock::time_point now = Clock::now());
  /// Time from here to the next observation is set-up, of which nothing was done.
  void begin_set_up();

  /// Units a second; nothing where it is not known yet.
  std::optional<double> rate() const;
  /// For this number of further units; negative where the rate is not known.
  double seconds_for(double units) const;

 private:
  struct Sample {
    double seconds;  // without set-up
    double done;
  };
  std::deque<Sample> samples_;  // from the oldest that counts to the newest
  std::optional<Clock::time_point> last_time_;
  bool is_set_up_ = true;
};

}  // namespace kinflow
