// Collects the messages of a run.
#include "kinflow/gwas/run_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <utility>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/version.h"

namespace kinflow {
namespace {

std::string local_time(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

RunLog::RunLog(Logger& next, std::vector<std::string> options)
    : next_(next), options_(std::move(options)) {}

void RunLog::info(const std::string& message) {
  note(message);
  next_.info(message);
}

void RunLog::warning(const std::string& message) {
  note("Warning: " + message);
  next_.warning(message);
}

void RunLog::progress(const Progress& progress) { next_.progress(progress); }

void RunLog::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  text_ += text;
  if (!text.ends_with('\n')) text_ += '\n';
}

void RunLog::write(const std::string& path, const std::string& ending) const {
  const std::lock_guard lock(mutex_);
  const auto end = std::chrono::system_clock::now();
  std::string log =
      fmt::format("kinflow {} ({})\nOptions in effect:\n", version(), commit());
  for (const auto& option : options_) log += fmt::format("  {}\n", option);
  log +=
      fmt::format("\nHostname: {}\nStart time: {}\n\n{}\n{}\nEnd time: {} ({:.1f} s)\n",
                  host_name(), local_time(start_), text_, ending, local_time(end),
                  std::chrono::duration<double>(end - start_).count());
  write_file_atomically(path, log);
}

}  // namespace kinflow
