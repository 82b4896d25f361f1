// A Logger that drops everything, and numbers as people read them.
#include "kinflow/core/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kinflow {

Logger::~Logger() = default;
void Logger::info(const std::string&) {}
void Logger::warning(const std::string&) {}
void Logger::progress(const Progress&) {}

std::string format_nats(double nats) {
  return std::isfinite(nats) ? fmt::format("{:.4f}", nats) : "not finite";
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds < 0 ? 0 : seconds));
  const std::int64_t hours = whole / 3600;
  const std::int64_t minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string time_left_text(const Progress& progress) {
  if (progress.seconds_left < 0 || progress.done >= progress.total) return "";
  const auto most = format_duration(progress.seconds_left) + " left";
  if (progress.least_seconds_left < 0) return most;
  const auto least = format_duration(progress.least_seconds_left);
  if (progress.least_seconds_left < 1 || least + " left" == most) {
    return "at most " + most;
  }
  return least + " to at most " + most;
}

std::string format_rough_duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(seconds, 1.0));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace kinflow
