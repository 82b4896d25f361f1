// Entry point of kinflow. LibTorch takes longer to load than some verbs take to run:
// those that need no tensors run here; kinflow-reproduce and kinflow-tensors, which
// stand beside this program, do everything else.
#include <span>
#include <string_view>

#include "commands.h"
#include "programs.h"
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

const char* program_for(std::span<char*> arguments) {
  if (arguments.size() >= 2 && arguments[1] == std::string_view("reproduce")) {
    return "kinflow-reproduce";
  }
  return "kinflow-tensors";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kinflow;
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (!needs_no_tensors(arguments)) return cli::become(program_for(arguments), argv);
  return cli::run_verbs(argc, argv, [](CLI::App& app, cli::Console& console) {
    cli::add_grm(app, console);
    cli::add_gwas(app, console);
    cli::add_clump(app, console);
  });
}
