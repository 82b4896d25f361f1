// Progress bars and messages.
#include "console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace kinflow::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr std::chrono::milliseconds kBarInterval{100};
constexpr std::chrono::seconds kLineInterval{10};

std::string text_of(const Progress& progress) {
  auto text = fmt::format("{} {}/{}", progress.unit, progress.done, progress.total);
  if (!progress.status.empty()) text += "  " + progress.status;
  if (const auto left = time_left_text(progress); !left.empty()) text += "  " + left;
  return text;
}

// A line that wraps cannot be drawn over.
std::size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

}  // namespace

Console::Console() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

void Console::clear_bar() {
  if (bar_is_shown_) std::fputs("\r\033[K", stderr);
  bar_is_shown_ = false;
}

void Console::info(const std::string& message) {
  const std::lock_guard lock(mutex_);
  clear_bar();
  std::fputs((message + "\n").c_str(), stderr);
}

void Console::warning(const std::string& message) { info("warning: " + message); }

void Console::progress(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const bool ends = progress.done >= progress.total;
  if (!is_terminal_) {
    if (!ends && now - last_line_ < kLineInterval) return;
    last_line_ = now;
    std::fputs((progress.job + ": " + text_of(progress) + "\n").c_str(), stderr);
    return;
  }
  if (ends) {
    clear_bar();
    return;
  }
  if (now - last_line_ < kBarInterval) return;
  last_line_ = now;
  const auto text = progress.job + " " + text_of(progress);
  const std::size_t width = terminal_width();
  if (width < text.size() + kBarWidth + 4) {
    draw(text.substr(0, width - 1));
    return;
  }
  const auto filled = static_cast<std::size_t>(
      kBarWidth * progress.done / (progress.total > 0 ? progress.total : 1));
  const auto bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  draw(fmt::format("{} [{}] {}", progress.job, bar, text_of(progress)));
}

void Console::draw(const std::string& line) {
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
  bar_is_shown_ = true;
}

}  // namespace kinflow::cli
