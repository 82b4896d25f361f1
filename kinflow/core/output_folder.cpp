// Making a folder, and taking it away again where its files fail.
#include "kinflow/core/output_folder.h"

#include <filesystem>
#include <system_error>

#include "kinflow/core/error.h"

namespace kinflow {

void fill_folder(const std::string& directory, const std::function<void()>& write) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(directory, error);
  if (error || !std::filesystem::is_directory(directory, error)) {
    throw InputError(directory + ": cannot make the folder (" +
                     (error ? error.message() : "a file of that name exists") + ")");
  }
  try {
    write();
  } catch (...) {
    if (is_new) std::filesystem::remove_all(directory, error);
    throw;
  }
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

}  // namespace kinflow
