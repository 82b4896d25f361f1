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

}  // namespace kinflow
