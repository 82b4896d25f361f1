// Entry point of kinflow. The paper's experiments are in kinflow-reproduce, which
// stands beside this program.
#include <cstdlib>
#include <string_view>

#include "commands.h"
#include "programs.h"
#include "run_verbs.h"

int main(int argc, char** argv) {
  using namespace kinflow;
  if (argc >= 2 && argv[1] == std::string_view("reproduce")) {
    return cli::become("kinflow-reproduce", argv);
  }
  cli::keep_freed_memory();
  return cli::run_verbs(argc, argv, [argv](CLI::App& app, cli::Console& console) {
    cli::add_simulate(app, console);
    cli::add_fit(app, console);
    cli::add_sweep(app, console);
    cli::add_evaluate(app, console);
    cli::add_sample(app, console);
    cli::add_transform(app, console);
    cli::add_inspect(app, console);
    cli::add_compare(app, console);
    cli::add_report(app, console);
    cli::add_relationship(app, console);
    cli::add_grm(app, console);
    cli::add_gwas(app, console);
    cli::add_clump(app, console);
    auto* reproduce = app.add_subcommand("reproduce", cli::kReproduceHelp);
    reproduce->allow_extras();
    reproduce->callback([argv] { std::exit(cli::become("kinflow-reproduce", argv)); });
    cli::add_demo(app, console);
  });
}
