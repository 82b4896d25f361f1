// Entry point of kinflow-tensors, which has all verbs.
#include "commands.h"
#include "run_verbs.h"

int main(int argc, char** argv) {
  using namespace kinflow;
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
