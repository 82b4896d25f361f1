// The .log file of a run, as plink writes one.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "kinflow/core/log.h"

namespace kinflow {

/// Passes messages on and keeps them, with the options and the time, for PREFIX.log.
class RunLog final : public Logger {
 public:
  /// @param options  as typed, "--maf 0.05"; one line each
  RunLog(Logger& next, std::vector<std::string> options);

  void info(const std::string& message) override;
  void warning(const std::string& message) override;
  void progress(const Progress& progress) override;
  /// Text that the user sees elsewhere.
  void note(const std::string& text);

  /// Writes everything so far, and how the run ended.
  void write(const std::string& path, const std::string& ending) const;

 private:
  Logger& next_;
  std::vector<std::string> options_;
  std::chrono::system_clock::time_point start_ = std::chrono::system_clock::now();
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace kinflow
