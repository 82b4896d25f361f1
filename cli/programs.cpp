// Finds programs beside this one.
#include "programs.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "kinflow/core/error.h"

int kinflow::cli::become(const char* program, char** arguments) {
  constexpr int kNotFound = 127;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = (self.parent_path() / program).string();
  if (!error) execv(path.c_str(), arguments);
  const bool is_missing = errno == ENOENT;
  std::fprintf(stderr, "kinflow: %s%s\n", system_message(path, "run").c_str(),
               is_missing ? "; 'make build' builds every program" : "");
  return kNotFound;
}
