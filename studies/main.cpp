// Entry point of kinflow-reproduce, which has the paper's experiments.
#include "cli/commands.h"
#include "cli/run_verbs.h"

int main(int argc, char** argv) {
  using namespace kinflow;
  cli::keep_freed_memory();
  return cli::run_verbs(argc, argv, cli::add_reproduce);
}
