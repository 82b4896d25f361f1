// kinflow demo: the paper's Figure 1 and one column of its Table 1, from simulated
// data.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kinflow/demo/teaser.h"
#include "kinflow/pages/model/compare_page.h"
#include "options.h"
#include "write_report.h"

namespace kinflow::cli {

void add_demo(CLI::App& app, Console& console) {
  struct Given : TeaserOptions {
    bool no_report = false;
  };
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand(
      "demo", "Simulate, fit with and without dependence, compare, draw a picture");
  verb->add_option("--out", given->directory, "Folder to write")->required();
  add_seed(*verb, given->seed, "Seed of data and training");
  add_threads(*verb, given->threads);
  add_overwrite(*verb, given->overwrite);
  add_no_report(*verb, given->no_report);
  verb->callback([given, &console] {
    given->stop = &stop_requested();
    const auto teaser = run_teaser(*given, console);
    fmt::print("{}picture: {}\ntime in all: {:.1f} s\n", teaser.table, teaser.picture,
               teaser.seconds);
    if (given->no_report) return;
    write_report(
        report_in(given->directory), [&] { return demo_page(given->directory); },
        console);
  });
}

}  // namespace kinflow::cli
