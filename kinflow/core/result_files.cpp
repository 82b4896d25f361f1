// Looking for earlier results, and removing them.
#include "kinflow/core/result_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char digit) {
    return digit >= '0' && digit <= '9';
  });
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

void require_no_result(const ResultFiles& files, bool overwrite,
                       const std::string& option) {
  if (overwrite) return;
  const auto found = std::find_if(files.begin(), files.end(), is_file);
  if (found == files.end()) return;
  throw InputError(*found +
                   ": expected no earlier result there, found one; give --overwrite to "
                   "replace it, or another " +
                   option);
}

void remove_result(const ResultFiles& files) {
  for (const auto& path : files) {
    std::error_code error;
    if (fs::is_directory(path, error)) remove_unfinished_files(path);
    fs::remove(path, error);
    // A folder with something else in it stays.
    std::error_code ignored;
    if (!error || fs::is_directory(path, ignored)) continue;
    throw InputError(path + ": cannot be removed (" + error.message() + ")");
  }
}

ResultFiles paths_between(const std::string& start, const std::string& ending) {
  const fs::path first(start);
  const auto name = first.filename().string();
  ResultFiles found;
  const auto folder = first.parent_path();
  for (const auto& entry : entries_of(folder.empty() ? fs::path(".") : folder)) {
    const auto other = entry.filename().string();
    if (other.size() < name.size() + ending.size()) continue;
    if (!other.starts_with(name) || !other.ends_with(ending)) continue;
    found.push_back((folder / other).string());
  }
  return found;
}

ResultFiles run_folder_files(const std::string& directory) {
  ResultFiles files;
  for (const char* name :
       {"run.json", "metrics.csv", "held_out.csv", "model.safetensors",
        "checkpoint.safetensors", "best.safetensors", kReportName}) {
    files.push_back((fs::path(directory) / name).string());
  }
  files.push_back(directory);
  return files;
}

ResultFiles people_folder_files(const std::string& directory, ImageNames names) {
  ResultFiles files;
  std::error_code ignored;
  for (const auto& person : entries_of(directory)) {
    if (!fs::is_directory(person, ignored)) continue;
    const auto before =
        names == ImageNames::numbers ? std::string() : person.filename().string() + "_";
    for (const auto& image : entries_of(person)) {
      const auto stem = image.stem().string();
      if (image.extension() != ".png" || !stem.starts_with(before)) continue;
      if (is_number(stem.substr(before.size()))) files.push_back(image.string());
    }
    files.push_back(person.string());
  }
  files.push_back(directory);
  return files;
}

}  // namespace kinflow
