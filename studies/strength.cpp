// Figure 2 of the paper: what the strength of the dependence does to a flow.
#include <fmt/format.h>

#include <cmath>

#include "kinflow/core/atomic_file.h"
#include "kinflow/report/strength_figure.h"
#include "studies/experiments.h"
#include "studies/score_table.h"
#include "studies/simulated_sets.h"

namespace kinflow {
namespace {

constexpr int kIntervals = 5;
constexpr PlaneShape kShape = PlaneShape::crescent;

double low_end(int interval) { return 0.2 * interval; }

std::string prefix_of(int interval) {
  return fmt::format("rho{:.1f}-{:.1f}", low_end(interval), low_end(interval + 1));
}

std::vector<Method> methods_for(const MethodSettings& settings) {
  return {paper_baseline(settings), paper_grid(settings), default_fit(settings)};
}

const std::vector<ScoreRow> kRows = {
    {"ours: baseline", method_name::kBaseline},
    {"ours: grid (pairs)", method_name::kGrid},
    {"kinflow: default", method_name::kDefault},
    {"kinflow: default, `--ensemble 4`", method_name::kEnsemble}};

void draw(const std::string& path, const std::vector<ScoreColumn>& columns) {
  StrengthFigure figure;
  figure.entropy = shape_entropy_nats(kShape);
  for (const auto& row : kRows) {
    StrengthScores scores{.name = row.heading, .mean = {}, .standard_error = {}};
    if (row.method == method_name::kEnsemble) scores.name = "kinflow: mixture of 4";
    for (const auto& column : columns) {
      const auto mean = mean_and_standard_error(test_nlls(column, row.method));
      scores.mean.push_back(mean.mean);
      scores.standard_error.push_back(mean.standard_error);
    }
    figure.methods.push_back(std::move(scores));
  }
  write_strength_figure(path, figure);
}

}  // namespace

ExperimentReport reproduce_strength(const ExperimentOptions& options, Logger& logger) {
  std::vector<PlannedSet> plan;
  const auto seeds = seeds_of(options);
  for (int interval = 0; interval < kIntervals; ++interval) {
    SimulatedPlan part;
    part.simulation.lowest_rho = low_end(interval);
    // A correlation of 1 is never drawn.
    part.simulation.highest_rho =
        std::min(low_end(interval + 1), std::nextafter(1.0, 0.0));
    part.shapes = {kShape};
    part.seeds = seeds;
    part.prefix = prefix_of(interval);
    part.device = options.device;
    part.threads = options.threads;
    part.quick = options.quick;
    part.methods = methods_for;
    auto sets = plan_simulated_sets(part, logger);
    plan.insert(plan.end(), sets.begin(), sets.end());
  }
  const auto result = run_study(plan, study_place(options, "strength"), logger);
  std::vector<ScoreColumn> columns;
  for (int interval = 0; interval < kIntervals; ++interval) {
    ScoreColumn column{.heading = fmt::format("{:.1f} to {:.1f}", low_end(interval),
                                              low_end(interval + 1)),
                       .entropy_nats = shape_entropy_nats(kShape),
                       .sets = {}};
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      column.sets.push_back(
          &result.sets[static_cast<std::size_t>(interval) * seeds.size() + i]);
    }
    columns.push_back(std::move(column));
  }
  ExperimentReport report;
  report.pictures = {options.directory + "/strength.png"};
  draw(report.pictures.front(), columns);
  report.markdown =
      heading("Strength of the dependence", options) +
      provenance(options, "strength", result.seconds) +
      "\nCrescent in blocks whose correlations are drawn from an interval (Figure 2 of "
      "the paper). Bold: below the baseline, one-sided paired t-test, p < 0.05.\n\n" +
      "![Test NLL by the strength of the dependence](strength.png)\n\n" +
      score_table(columns, kRows, method_name::kBaseline) + "\n";
  if (options.seeds > 1) {
    report.markdown += p_value_table(
        columns, {method_name::kGrid, method_name::kDefault, method_name::kEnsemble},
        method_name::kBaseline);
  }
  write_file_atomically(options.directory + "/scores.csv", scores_as_csv(result.sets));
  write_report(options, "strength", report);
  return report;
}

}  // namespace kinflow
