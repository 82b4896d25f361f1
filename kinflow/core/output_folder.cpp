// Making a folder, and taking it away again where its files fail.
#include "kinflow/core/output_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"

namespace kinflow {

void fill_folder(const std::string& directory, const std::function<void()>& write,
                 const ResultFiles& replaced) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(directory, error);
  if (error || !std::filesystem::is_directory(directory, error)) {
    throw InputError(directory + ": cannot make the folder (" +
                     (error ? error.message() : "a file of that name exists") + ")");
  }
  try {
    remove_result(replaced);
    write();
  } catch (...) {
    if (is_new) std::filesystem::remove_all(directory, error);
    throw;
  }
}

void make_whole_folder(const std::string& directory,
                       const std::function<void(const std::string& into)>& write,
                       const ResultFiles& replaced) {
  require_free(directory, replaced);
  std::filesystem::path target = std::filesystem::path(directory).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  const auto beside = target.string() + "." + std::to_string(getpid()) + ".tmp";
  try {
    fill_folder(beside, [&] { write(beside); });
  } catch (const InputError& error) {
    std::string message = error.what();
    for (auto at = message.find(beside); at != message.npos;
         at = message.find(beside)) {
      message.replace(at, beside.size(), directory);
    }
    throw InputError(message);
  }
  remove_result(replaced);
  std::error_code error;
  std::filesystem::rename(beside, target, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove_all(beside, ignored);
  throw InputError(directory + ": cannot make the folder (" + error.message() + ")");
}

void require_free(const std::string& directory,
                  const std::function<bool(const std::string& name)>& is_own) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const auto name = entry.path().filename().string();
    if (is_own(name)) continue;
    throw InputError(directory + ": expected a new or empty folder, found '" + name +
                     "'");
  }
  if (error) {
    throw InputError(directory + ": expected a folder (" + error.message() + ")");
  }
}

void require_free(const std::string& directory, const ResultFiles& replaced) {
  std::error_code ignored;
  const auto is_replaced = [&](const std::filesystem::path& path) {
    return std::find(replaced.begin(), replaced.end(), path.string()) != replaced.end();
  };
  if (std::filesystem::exists(directory, ignored) &&
      !std::filesystem::is_directory(directory, ignored)) {
    throw InputError(directory + ": expected a folder (Not a directory)");
  }
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory, ignored)) {
    if (is_replaced(entry.path())) continue;
    throw InputError(
        fmt::format("{}: expected a new or empty folder, found '{}'{}", directory,
                    entry.path().lexically_relative(directory).string(),
                    replaced.empty() ? "" : ", which is no part of an earlier result"));
  }
}

void require_makeable(const std::string& directory) {
  std::error_code ignored;
  auto above = std::filesystem::absolute(directory, ignored);
  while (above.has_relative_path() && !std::filesystem::exists(above, ignored)) {
    above = above.parent_path();
  }
  const bool is_folder = std::filesystem::is_directory(above, ignored);
  if (is_folder && ::access(above.c_str(), W_OK) == 0) return;
  if (!is_folder) errno = ENOTDIR;
  throw InputError(system_message(directory, "make the folder"));
}

void require_writable(const std::string& path) {
  std::error_code ignored;
  // Opening a pipe would be taken for its content.
  if (std::filesystem::is_fifo(path, ignored)) return;
  const AtomicFile probe(path);
}

}  // namespace kinflow
