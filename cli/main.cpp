// Entry point of kinflow. LibTorch takes longer to load than some verbs take to run:
// those that need no tensors run here, and kinflow-tensors, which stands beside this
// program, does everything else.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "commands.h"
#include "kinflow/core/error.h"
#include "run_verbs.h"

namespace {

/// True where the traits go into the tests without a flow.
bool has_no_flow(std::span<char*> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--transform=none" || word == "--transform=rank-normal") return true;
    if (word != "--transform" || i + 1 == arguments.size()) continue;
    const std::string_view value = arguments[i + 1];
    if (value == "none" || value == "rank-normal") return true;
  }
  return false;
}

bool needs_no_tensors(std::span<char*> arguments) {
  if (arguments.size() < 2) return false;
  const std::string_view verb = arguments[1];
  return verb == "grm" || verb == "clump" || (verb == "gwas" && has_no_flow(arguments));
}

/// Returns only where it fails.
int become_tensor_program(char** arguments) {
  constexpr int kNotFound = 127;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto path = (self.parent_path() / "kinflow-tensors").string();
  if (!error) execv(path.c_str(), arguments);
  std::fprintf(stderr, "kinflow: %s\n", kinflow::system_message(path, "run").c_str());
  return kNotFound;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kinflow;
  if (!needs_no_tensors({argv, static_cast<std::size_t>(argc)})) {
    return become_tensor_program(argv);
  }
  return cli::run_verbs(argc, argv, [](CLI::App& app, cli::Console& console) {
    cli::add_grm(app, console);
    cli::add_gwas(app, console);
    cli::add_clump(app, console);
  });
}
