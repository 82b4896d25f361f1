// A Logger that drops everything, and numbers as people read them.
#include "kinflow/core/log.h"

#include <fmt/format.h>

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

}  // namespace kinflow
