// What a person sees: messages and progress on standard error.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "kinflow/core/log.h"

namespace kinflow::cli {

/// On a terminal a progress bar that is drawn anew; in a log plain lines, now and then.
class Console final : public Logger {
 public:
  Console();
  void info(const std::string& message) override;
  void warning(const std::string& message) override;
  void progress(const Progress& progress) override;

 private:
  void clear_bar();
  void draw(const std::string& line);
  std::mutex mutex_;
  bool is_terminal_;
  bool bar_is_shown_ = false;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace kinflow::cli
