// How near learned correlations of blocks come to the true ones.
#include <fmt/format.h>

#include "kinflow/core/atomic_file.h"
#include "kinflow/evaluate/recovered_correlations.h"
#include "kinflow/report/recovery_figure.h"
#include "kinflow/report/text_table.h"
#include "studies/experiments.h"
#include "studies/score_table.h"
#include "studies/simulated_sets.h"

namespace kinflow {
namespace {

constexpr PlaneShape kShape = PlaneShape::crescent;
constexpr double kBar = 0.015;  // of the mean squared error

struct Row {
  std::string heading;
  std::string method;
  std::string published;  // mean squared and mean absolute error
};
const std::vector<Row> kRows = {{"baseline", method_name::kBaseline, "0.57, 0.74"},
                                {"grid (pairs)", method_name::kGrid, "0.023, 0.13"},
                                {"joint (pairs)", method_name::kJoint, "0.08, 0.25"},
                                {"kinflow: one training", method_name::kOneMemory, ""},
                                {"kinflow: default", method_name::kDefault, ""}};

std::vector<Method> methods_for(const MethodSettings& settings) {
  return {paper_baseline(settings), paper_grid(settings), paper_joint(settings),
          one_training(settings, Estimator::memory), default_fit(settings)};
}

// Its blocks are in the order of the scores.
RepeatedBlocks truth_of(std::uint64_t seed) {
  SimulateOptions options;
  options.seed = seed;
  return repeated_blocks(simulate_latents(options));
}

struct Errors {
  MeanAndError squared, absolute;  // over the seeds, of the means over the blocks
  RecoveredCorrelations points;    // of all seeds
};

Errors errors_of(const Row& row, const StudyResult& result,
                 const std::vector<RepeatedBlocks>& truths) {
  Errors errors;
  errors.points.title = row.heading;
  std::vector<double> squared, absolute;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    const auto& learned = result.sets[i].score_of(row.method).learned;
    const auto& truth = truths[i];
    const auto error = correlation_error(learned, truth.correlations);
    squared.push_back(error.mean_squared);
    absolute.push_back(error.mean_absolute);
    const auto append = [](std::vector<double>& to, const auto& values) {
      to.insert(to.end(), values.begin(), values.end());
    };
    append(errors.points.true_rho, truth.correlations);
    append(errors.points.learned_rho, learned);
    append(errors.points.block_size, truth.sizes);
  }
  errors.squared = mean_and_standard_error(squared);
  errors.absolute = mean_and_standard_error(absolute);
  errors.points.subtitle = fmt::format("MSE {:.3f}", errors.squared.mean);
  return errors;
}

}  // namespace

ExperimentReport reproduce_recovery(const ExperimentOptions& options, Logger& logger) {
  SimulatedPlan plan;
  plan.shapes = {kShape};
  plan.seeds = seeds_of(options);
  plan.prefix = "blocks";
  plan.device = options.device;
  plan.threads = options.threads;
  plan.quick = options.quick;
  plan.methods = methods_for;
  const auto result = run_study(plan_simulated_sets(plan, logger),
                                study_place(options, "rho-recovery"), logger);
  std::vector<RepeatedBlocks> truths;
  for (const auto seed : plan.seeds) truths.push_back(truth_of(seed));
  TextTable table({{"Crescent in blocks", Align::kLeft},
                   {"MSE of rho"},
                   {"MAE of rho"},
                   {"paper: MSE, MAE"}});
  RecoveryFigure figure;
  double own = 0;
  for (const auto& row : kRows) {
    auto errors = errors_of(row, result, truths);
    const auto shown = [](const MeanAndError& error) {
      return error.count < 2
                 ? fmt::format("{:.4f}", error.mean)
                 : fmt::format("{:.4f} ± {:.4f}", error.mean, error.standard_error);
    };
    table.add_row(
        {row.heading, shown(errors.squared), shown(errors.absolute), row.published});
    if (row.method == method_name::kDefault) own = errors.squared.mean;
    if (row.method != method_name::kBaseline) {
      figure.methods.push_back(std::move(errors.points));
    }
  }
  ExperimentReport report;
  report.pictures = {options.directory + "/rho-recovery.png"};
  write_recovery_figure(report.pictures.front(), figure);
  report.markdown =
      heading("Recovery of rho", options) +
      provenance(options, "rho-recovery", result.seconds) +
      "\nLearned against true correlations of the blocks with at least two rows, each "
      "block counted once; means over the seeds, ± one standard error.\n\n" +
      "![Learned and true correlations](rho-recovery.png)\n\n" + table.markdown() +
      fmt::format("\nDefault: mean squared error {:.4f}, bar {:.3f}: {}.\n", own, kBar,
                  own <= kBar ? "holds" : "**does not hold**");
  write_file_atomically(options.directory + "/scores.csv", scores_as_csv(result.sets));
  write_report(options, "rho-recovery", report);
  return report;
}

}  // namespace kinflow
