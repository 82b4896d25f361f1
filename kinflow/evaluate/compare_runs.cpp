// Reading the held-out scores of runs and taking their differences.
#include "kinflow/evaluate/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "kinflow/core/error.h"
#include "kinflow/data/row_sets.h"
#include "kinflow/data/table.h"
#include "kinflow/fit/run_folder.h"

namespace kinflow {
namespace {

struct ScoredRun {
  std::string name;
  nlohmann::json data;     // hash of the table
  nlohmann::json columns;  // as the model has them
  std::vector<std::int64_t> rows = {}, units = {};
  std::vector<double> weights = {}, log_densities = {};
};

ScoredRun read_run(const std::string& directory) {
  const auto folder = RunFolder::open(directory);
  const auto record = folder.read_record();
  std::error_code ignored;
  if (!std::filesystem::exists(folder.held_out_path(), ignored)) {
    throw InputError(directory +
                     ": expected a finished run with scores of held-out rows, found no "
                     "held_out.csv; fit it without --valid and with --folds 2 or more");
  }
  const auto result = record.value("result", nlohmann::json::object());
  ScoredRun run{.name = directory,
                .data = record.value("data_hash", nlohmann::json()),
                .columns = result.value("columns", nlohmann::json())};
  const auto numbers = numeric_matrix(read_table(folder.held_out_path()),
                                      {"row", "unit", "weight", "log_density_nats"});
  const auto* row = numbers.values.data();
  for (std::int64_t i = 0; i < numbers.rows; ++i, row += 4) {
    run.rows.push_back(static_cast<std::int64_t>(row[0]));
    if (!(row[1] >= 1 && row[1] <= static_cast<double>(numbers.rows))) {
      throw InputError(fmt::format("{}: expected units from 1 to {}, found {}",
                                   folder.held_out_path(), numbers.rows, row[1]));
    }
    run.units.push_back(static_cast<std::int64_t>(row[1]));
    run.weights.push_back(row[2]);
    run.log_densities.push_back(row[3]);
  }
  return run;
}

void check_alike(const ScoredRun& first, const ScoredRun& other) {
  const auto fail = [&](const std::string& expected, const std::string& found) {
    throw InputError(fmt::format("{}: expected {} as in {}, found {}", other.name,
                                 expected, first.name, found));
  };
  if (first.data != other.data) fail("the same table", "another content");
  if (first.columns != other.columns) {
    fail("the same modelled columns " + first.columns.dump(), other.columns.dump());
  }
  if (first.rows != other.rows) {
    fail(fmt::format("the same {} rows", first.rows.size()),
         fmt::format("{} rows, or others", other.rows.size()));
  }
}

// Rows that any of the runs held out together.
std::vector<std::int64_t> joined_units(const std::vector<ScoredRun>& runs) {
  RowSets sets(std::ssize(runs.front().rows));
  for (const auto& run : runs) {
    const auto most = *std::max_element(run.units.begin(), run.units.end());
    std::vector<std::int64_t> first(static_cast<std::size_t>(most + 1), -1);
    for (std::size_t i = 0; i < run.units.size(); ++i) {
      auto& known = first[static_cast<std::size_t>(run.units[i])];
      if (known < 0) known = static_cast<std::int64_t>(i);
      sets.join(known, static_cast<std::int64_t>(i));
    }
  }
  return sets.numbers();
}

bool has_equal_weights(const ScoredRun& run) {
  const auto [least, most] =
      std::minmax_element(run.weights.begin(), run.weights.end());
  return *least == *most;
}

}  // namespace

RunComparison compare_runs(const std::vector<std::string>& names) {
  std::vector<ScoredRun> runs;
  for (const auto& name : names) {
    runs.push_back(read_run(name));
    check_alike(runs.front(), runs.back());
  }
  const auto& first = runs.front();
  const auto units = joined_units(runs);
  // Independent rows all count alike; a run that knows of a dependence knows better.
  const auto weighted = std::find_if_not(runs.begin(), runs.end(), has_equal_weights);
  const auto& weights_of = weighted == runs.end() ? first : *weighted;
  const std::vector<double> alike(first.rows.size(), 1);
  RunComparison result{.rows = std::ssize(first.rows),
                       .units = *std::max_element(units.begin(), units.end()) + 1,
                       .weights_of = weights_of.name,
                       .runs = {}};
  for (const auto& run : runs) {
    const auto own =
        weighted_mean_by_units(run.log_densities, weights_of.weights, units);
    std::vector<double> differences;
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      differences.push_back(first.log_densities[i] - run.log_densities[i]);
    }
    result.runs.push_back(
        {.run = run.name,
         .nll_nats = -own.mean,
         .standard_error = own.standard_error,
         .difference = weighted_mean_by_units(differences, weights_of.weights, units),
         .difference_of_rows = weighted_mean_by_units(differences, alike, units),
         .has_seen_relatives =
             result.units <
             std::ssize(std::set<std::int64_t>(run.units.begin(), run.units.end()))});
  }
  return result;
}

}  // namespace kinflow
