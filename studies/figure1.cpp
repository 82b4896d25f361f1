// Figure 1 of the paper as a section of a page.
#include "kinflow/demo/teaser.h"
#include "studies/experiments.h"

namespace kinflow {

ExperimentReport reproduce_teaser(const ExperimentOptions& options, Logger& logger) {
  auto once = options;
  once.seeds = 1;
  const auto teaser = run_teaser({.directory = options.directory,
                                  .seed = options.first_seed,
                                  .device = options.device,
                                  .threads = options.threads,
                                  .overwrite = options.overwrite,
                                  .stop = options.stop},
                                 logger);
  ExperimentReport report;
  report.pictures = {teaser.picture};
  report.markdown =
      heading("Figure 1", options) + provenance(once, "teaser", teaser.seconds) +
      "\n![Densities of Abs](density.png)\n\n```\n" + teaser.table + "```\n";
  write_report(options, "teaser", report);
  return report;
}

}  // namespace kinflow
