// A window of observations.
#include "kinflow/core/time_left.h"

namespace kinflow {
namespace {

// Observations that are closer than this are one.
constexpr double kSampleSeconds = 0.25;

}  // namespace

void TimeLeft::begin_set_up() { is_set_up_ = true; }

void TimeLeft::observe(double done, Clock::time_point now) {
  double seconds = samples_.empty() ? 0 : samples_.back().seconds;
  if (last_time_ && !is_set_up_) {
    seconds += std::chrono::duration<double>(now - *last_time_).count();
  } else if (!samples_.empty()) {
    // What was done meanwhile took no time that counts.
    const double unseen = done - samples_.back().done;
    for (auto& sample : samples_) sample.done += unseen;
  }
  last_time_ = now;
  is_set_up_ = false;
  const auto count = samples_.size();
  if (count >= 2 && seconds - samples_[count - 2].seconds < kSampleSeconds) {
    samples_.back() = {seconds, done};
  } else {
    samples_.push_back({seconds, done});
  }
  while (samples_.size() > 2 && seconds - samples_[1].seconds >= kWindowSeconds) {
    samples_.pop_front();
  }
}

std::optional<double> TimeLeft::rate() const {
  if (samples_.empty()) return {};
  const double seconds = samples_.back().seconds - samples_.front().seconds;
  const double done = samples_.back().done - samples_.front().done;
  if (seconds < kLeastSeconds || done <= 0) return {};
  return done / seconds;
}

double TimeLeft::seconds_for(double units) const {
  const auto known = rate();
  return known ? units / *known : -1;
}

}  // namespace kinflow
