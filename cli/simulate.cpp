// kinflow simulate: the paper's synthetic data as files.
#include "kinflow/data/simulate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.h"
#include "options.h"

namespace kinflow::cli {

void add_simulate(CLI::App& app, Console& console) {
  struct Given {
    SimulateOptions options;
    std::string shape = "abs";
    std::string dependence = "blocks";
    std::string out;
  };
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand("simulate", "Simulate the paper's dependent data");
  auto& options = given->options;
  verb->add_option("--shape", given->shape, "Density in the plane")
      ->check(
          CLI::IsMember({"abs", "crescent", "crescent-cubed", "sign", "sine-wave"}));
  verb->add_option("--dependence", given->dependence, "How the training rows depend")
      ->check(CLI::IsMember({"blocks", "relationship"}));
  auto* rows = verb->add_option("--rows", options.rows,
                                "Training rows (relationship: 5000 if not given)")
                   ->check(integer_in(2, 1'000'000'000));
  verb->add_option("--valid-rows", options.valid_rows, "Independent validation rows")
      ->check(integer_in(1, 1'000'000'000));
  verb->add_option("--test-rows", options.test_rows, "Independent test rows")
      ->check(integer_in(1, 1'000'000'000));
  add_seed(*verb, options.seed, "Seed of all random numbers");
  verb->add_option("--lambda", options.lambda,
                   "Share of independent variance (relationship; default: random)")
      ->check(number_in(0, 1));
  verb->add_option("--out", given->out, "Folder to write")->required();
  verb->callback([given, rows, &console] {
    auto& chosen = given->options;
    chosen.shape = plane_shape(given->shape);
    if (given->dependence == "relationship") {
      chosen.dependence = SimulatedDependence::relationship;
      if (rows->count() == 0) chosen.rows = 5000;
    }
    const auto simulation = simulate(chosen);
    write_simulation(given->out, simulation);
    console.info(
        fmt::format("{}: {} training rows of '{}'{}, entropy {:.4f} nats", given->out,
                    chosen.rows, given->shape,
                    simulation.block_sizes.empty()
                        ? fmt::format(" with lambda {:.3f}", simulation.lambda)
                        : fmt::format(" in {} blocks", simulation.block_sizes.size()),
                    simulation.entropy_nats));
  });
}

}  // namespace kinflow::cli
