// How much memory there is, and the refusal of work that needs more.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kinflow {

/// Where the kernel tells what memory there is; tests name folders of their own.
struct MemorySources {
  std::string processes = "/proc";
  std::string control_groups = "/sys/fs/cgroup";
};

/// Bytes that this process can still take without swapping: the least of what the
/// machine has (MemAvailable of /proc/meminfo) and what the limits of the control
/// groups around the process leave (versions 1 and 2). Pages of files, which the kernel
/// gives up when memory is short, count as free. Nothing where no source says anything.
std::optional<double> available_memory(const MemorySources& sources = {});

/// The number of "key 123" or "key: 123 kB" in lines of text, kB as bytes; nothing
/// where there is no such line.
std::optional<double> value_of_line(std::string_view text, std::string_view key);

/// "512 MB" or "2.6 GB", in powers of 1000.
std::string format_bytes(double bytes);

/// InputError where work needs more memory than there is: "PLACE expected 12.8 GB of
/// memory for PURPOSE, found 3.1 GB; ADVICE". Amounts up to 64 MB pass without a look,
/// and nothing is refused where the available memory is unknown.
/// @param place  "FILE:" or "[Class]"
/// @param advice  what needs less; may be empty
void require_memory(double needed_bytes, const std::string& place,
                    const std::string& purpose, const std::string& advice,
                    const MemorySources& sources = {});

}  // namespace kinflow
