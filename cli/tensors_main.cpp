// Entry point of kinflow-tensors, which has all verbs.
#include <malloc.h>

#include "commands.h"
#include "run_verbs.h"

namespace {

// Tensors of some megabytes come and go with every step of a training: taking their
// pages from the system and giving them back each time costs more than the work on
// them.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargestKept);
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kinflow;
  keep_freed_memory();
  return cli::run_verbs(argc, argv, [](CLI::App& app, cli::Console& console) {
    cli::add_simulate(app, console);
    cli::add_fit(app, console);
    cli::add_sweep(app, console);
    cli::add_evaluate(app, console);
    cli::add_sample(app, console);
    cli::add_transform(app, console);
    cli::add_inspect(app, console);
    cli::add_relationship(app, console);
    cli::add_grm(app, console);
    cli::add_gwas(app, console);
    cli::add_clump(app, console);
    cli::add_reproduce(app, console);
    cli::add_demo(app, console);
  });
}
