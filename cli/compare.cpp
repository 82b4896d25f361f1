// kinflow compare: which of several runs of one table is better on held-out rows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "kinflow/core/log.h"
#include "kinflow/evaluate/compare_runs.h"
#include "kinflow/report/text_table.h"

namespace kinflow::cli {
namespace {

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

std::string with_error(const MeanByUnits& mean) {
  return fmt::format("{:+.4f} +- {:.4f}", mean.mean, mean.standard_error);
}

void print_json(const RunComparison& comparison) {
  nlohmann::json json = {{"rows", comparison.rows},
                         {"units", comparison.units},
                         {"weights_of", comparison.weights_of},
                         {"runs", nlohmann::json::array()}};
  for (const auto& run : comparison.runs) {
    json["runs"].push_back(
        {{"run", run.run},
         {"nll_nats", number(run.nll_nats)},
         {"standard_error", number(run.standard_error)},
         {"difference_nats", number(run.difference.mean)},
         {"difference_standard_error", number(run.difference.standard_error)},
         {"difference_of_rows_nats", number(run.difference_of_rows.mean)},
         {"difference_of_rows_standard_error",
          number(run.difference_of_rows.standard_error)},
         {"has_seen_relatives", run.has_seen_relatives}});
  }
  fmt::print("{}\n", json.dump(2));
}

void print_text(const RunComparison& comparison) {
  TextTable table({{"run", Align::kLeft},
                   {"cross-validated NLL"},
                   {"minus the first"},
                   {"rows counted alike"}});
  for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
    const auto& run = comparison.runs[i];
    table.add_row({run.run,
                   fmt::format("{:.4f} +- {:.4f}", run.nll_nats, run.standard_error),
                   i == 0 ? "" : with_error(run.difference),
                   i == 0 ? "" : with_error(run.difference_of_rows)});
  }
  fmt::print("{}", table.plain());
  fmt::print(
      "{} rows in {} units that were held out whole; a row counts by what it is worth "
      "in "
      "{}. Below 0 is better than the first; beyond two errors it is hardly chance.\n",
      comparison.rows, comparison.units, comparison.weights_of);
  for (const auto& run : comparison.runs) {
    if (!run.has_seen_relatives) continue;
    fmt::print(
        "{} was trained on relatives of the rows that it scores, which another run "
        "holds "
        "out: its NLL is too low. --fold-by COLUMN gives it the same folds.\n",
        run.run);
  }
}

}  // namespace

void add_compare(CLI::App& app, Console& /*console*/) {
  struct Given {
    std::vector<std::string> runs;
    bool json = false;
  };
  auto given = std::make_shared<Given>();
  auto* verb = app.add_subcommand(
      "compare", "Compare runs of one table by the scores of held-out rows");
  verb->add_option("runs", given->runs,
                   "Run folders of fits without --valid, two or more")
      ->required()
      ->expected(2, 1000);
  verb->add_flag("--json", given->json, "Print JSON");
  verb->callback([given] {
    const auto comparison = compare_runs(given->runs);
    given->json ? print_json(comparison) : print_text(comparison);
  });
}

}  // namespace kinflow::cli
