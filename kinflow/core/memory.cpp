// /proc/meminfo and the memory limits of control groups.
#include "kinflow/core/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/core/input_file.h"

namespace kinflow {
namespace {

constexpr double kUnseenBytes = 64e6;

/// The content of one of the kernel's files; empty where it cannot be read.
std::string content_or_nothing(const std::string& path) {
  try {
    return read_whole_file(path);
  } catch (const InputError&) {
    return {};
  }
}

/// The number that a text begins with, after spaces; nothing for "max".
std::optional<double> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc()) return std::nullopt;
  return number;
}

/// Calls visit(line) for every line of a text.
template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The names that the two versions of control groups give to the same things.
struct ControlGroupFiles {
  std::string limit, used;
  std::vector<std::string> file_pages;  ///< keys of memory.stat
};

const ControlGroupFiles& files_of_version(int version) {
  static const ControlGroupFiles first = {
      .limit = "memory.limit_in_bytes",
      .used = "memory.usage_in_bytes",
      .file_pages = {"total_active_file", "total_inactive_file"}};
  static const ControlGroupFiles second = {
      .limit = "memory.max",
      .used = "memory.current",
      .file_pages = {"active_file", "inactive_file"}};
  return version == 1 ? first : second;
}

void lower_to(std::optional<double>& least, std::optional<double> other) {
  if (other && (!least || *other < *least)) least = other;
}

/// What the limit of one group leaves; nothing where it has none.
std::optional<double> room_in_group(const std::string& folder,
                                    const ControlGroupFiles& files) {
  const auto limit = leading_number(content_or_nothing(folder + "/" + files.limit));
  const auto used = leading_number(content_or_nothing(folder + "/" + files.used));
  if (!limit || !used) return std::nullopt;
  double room = *limit - *used;
  const std::string statistics = content_or_nothing(folder + "/memory.stat");
  for (const std::string& key : files.file_pages) {
    room += value_of_line(statistics, key).value_or(0);
  }
  return std::max(room, 0.0);
}

/// The least room in a group and in those above it. Inside a container the group's own
/// path may not exist, and the mount itself is the container's group.
std::optional<double> room_up_to_mount(const std::string& mount, std::string group,
                                       const ControlGroupFiles& files) {
  std::optional<double> least;
  while (group.starts_with('/')) {
    lower_to(least, room_in_group(mount + group, files));
    if (group == "/") break;
    const std::size_t parent = group.rfind('/');
    group.resize(std::max<std::size_t>(parent, 1));
  }
  return least;
}

/// Lines of /proc/self/cgroup are "number:controllers:path"; version 2 names none.
std::optional<double> room_in_control_groups(const MemorySources& sources) {
  std::optional<double> least;
  const std::string& root = sources.control_groups;
  for_each_line(content_or_nothing(sources.processes + "/self/cgroup"),
                [&](std::string_view line) {
                  const std::size_t first = line.find(':');
                  const std::size_t second = line.find(':', first + 1);
                  if (first == line.npos || second == line.npos) return;
                  const std::string controllers =
                      fmt::format(",{},", line.substr(first + 1, second - first - 1));
                  const std::string group(line.substr(second + 1));
                  if (controllers == ",,") {
                    lower_to(least, room_up_to_mount(root, group, files_of_version(2)));
                    lower_to(least, room_up_to_mount(root + "/unified", group,
                                                     files_of_version(2)));
                  } else if (controllers.find(",memory,") != std::string::npos) {
                    lower_to(least, room_up_to_mount(root + "/memory", group,
                                                     files_of_version(1)));
                  }
                });
  return least;
}

}  // namespace

std::optional<double> available_memory(const MemorySources& sources) {
  std::optional<double> least =
      value_of_line(content_or_nothing(sources.processes + "/meminfo"), "MemAvailable");
  lower_to(least, room_in_control_groups(sources));
  return least;
}

std::optional<double> value_of_line(std::string_view text, std::string_view key) {
  std::optional<double> value;
  for_each_line(text, [&](std::string_view line) {
    if (value || !line.starts_with(key)) return;
    line.remove_prefix(key.size());
    if (line.empty() || (line.front() != ':' && line.front() != ' ')) return;
    value = leading_number(line.substr(1));
    if (value && line.ends_with(" kB")) *value *= 1024;
  });
  return value;
}

std::string format_bytes(double bytes) {
  if (bytes < 999.5e6) return fmt::format("{:.0f} MB", bytes / 1e6);
  return fmt::format("{:.{}f} GB", bytes / 1e9, bytes < 99.95e9 ? 1 : 0);
}

void require_memory(double needed_bytes, const std::string& place,
                    const std::string& purpose, const std::string& advice,
                    const MemorySources& sources) {
  if (needed_bytes <= kUnseenBytes) return;
  const auto available = available_memory(sources);
  if (!available || needed_bytes <= *available) return;
  throw InputError(fmt::format("{} expected {} of memory for {}, found {}{}{}", place,
                               format_bytes(needed_bytes), purpose,
                               format_bytes(*available), advice.empty() ? "" : "; ",
                               advice));
}

}  // namespace kinflow
